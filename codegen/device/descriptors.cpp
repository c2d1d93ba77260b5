// SPDX-License-Identifier: Apache-2.0
#include "codegen/device/descriptors.h"

#include <llvm/ADT/MapVector.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Module.h>

namespace dhpvm::codegen {

void hoist_descriptors(llvm::Function& body, llvm::Argument& arrays) {
  const llvm::DataLayout& layout = body.getParent()->getDataLayout();
  llvm::MapVector<std::pair<std::int64_t, llvm::Type*>, llvm::SmallVector<llvm::LoadInst*>> fields;
  for (llvm::Instruction& instruction : llvm::instructions(body)) {
    auto* const load = llvm::dyn_cast<llvm::LoadInst>(&instruction);
    if (load == nullptr) continue;
    llvm::APInt offset(64, 0);
    const llvm::Value* const base = load->getPointerOperand()->stripAndAccumulateConstantOffsets(
        layout, offset, /*AllowNonInbounds=*/true);
    if (base == &arrays) fields[{offset.getSExtValue(), load->getType()}].push_back(load);
  }
  llvm::BasicBlock& entry = body.getEntryBlock();
  for (llvm::Instruction& instruction : llvm::make_early_inc_range(entry)) {
    if (llvm::isa<llvm::AllocaInst>(instruction)) instruction.moveBefore(entry, entry.begin());
  }
  llvm::IRBuilder<> b(&entry, entry.getFirstNonPHIOrDbgOrAlloca());
  for (auto& [field, loads] : fields) {
    llvm::Value* const address =
        b.CreateInBoundsGEP(b.getInt8Ty(), &arrays, b.getInt64(static_cast<std::uint64_t>(field.first)));
    llvm::LoadInst* const hoisted = b.CreateLoad(field.second, address);
    hoisted->copyMetadata(*loads.front());
    for (llvm::LoadInst* const load : loads) load->replaceAllUsesWith(hoisted);
  }
  // The builder may have been placed before one of them.
  for (auto& [field, loads] : fields) {
    for (llvm::LoadInst* const load : loads) load->eraseFromParent();
  }
}

}  // namespace dhpvm::codegen
