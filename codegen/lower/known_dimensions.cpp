// SPDX-License-Identifier: Apache-2.0
#include "codegen/lower/known_dimensions.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/DataLayout.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/PromoteMemToReg.h>

#include <algorithm>

#include "codegen/kernel_abi.h"
#include "codegen/lower/kernel_lowering.h"

namespace dhpvm::codegen {
namespace {

// Promotes registers, which are allocas, and with them the arrays that functions pass to each other.
void promote_registers(llvm::Function& function) {
  llvm::SmallVector<llvm::AllocaInst*> registers;
  for (llvm::Instruction& instruction : function.getEntryBlock()) {
    auto* const memory = llvm::dyn_cast<llvm::AllocaInst>(&instruction);
    if (memory != nullptr && llvm::isAllocaPromotable(memory)) registers.push_back(memory);
  }
  llvm::DominatorTree dominators(function);
  llvm::PromoteMemToReg(registers, dominators);
}

}  // namespace

void put_dimensions(llvm::Function& body, std::span<const KnownDimension> dimensions) {
  if (dimensions.empty()) return;
  promote_registers(body);
  const llvm::DataLayout& layout = body.getParent()->getDataLayout();
  for (llvm::Instruction& instruction : llvm::make_early_inc_range(llvm::instructions(body))) {
    auto* const load = llvm::dyn_cast<llvm::LoadInst>(&instruction);
    if (load == nullptr || !load->getType()->isIntegerTy(64)) continue;
    llvm::APInt offset(64, 0);
    const llvm::Value* const base = load->getPointerOperand()->stripAndAccumulateConstantOffsets(
        layout, offset, /*AllowNonInbounds=*/true);
    if (base != body.getArg(kArrays)) continue;
    const auto known = std::ranges::find_if(dimensions, [&](const KnownDimension& known) {
      return offset ==
             known.array * sizeof(KernelArray) + offsetof(KernelArray, shape.dims) + 8 * known.dimension;
    });
    if (known == dimensions.end()) continue;
    load->replaceAllUsesWith(llvm::ConstantInt::getSigned(load->getType(), known->value));
    load->eraseFromParent();
  }
}

}  // namespace dhpvm::codegen
