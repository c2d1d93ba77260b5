// SPDX-License-Identifier: Apache-2.0
#include "codegen/host/masked_accesses.h"

#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include <cstdint>
#include <optional>

namespace dhpvm::codegen {
namespace {

using llvm::Value;

constexpr std::uint64_t kLeastPage = 4096;

// A load or a store of neighbouring elements under a mask.
struct MaskedAccess {
  llvm::IntrinsicInst* instruction;
  llvm::FixedVectorType* type;
  Value* pointer;
  llvm::Align align;
  Value* mask;
  Value* stored;   // null: it loads
  Value* instead;  // the result of a load in inactive lanes
};

// Empty if the mask is constant: LLVM expands such accesses without branches.
std::optional<MaskedAccess> masked_access(llvm::Instruction& instruction) {
  auto* const call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
  if (call == nullptr) return std::nullopt;
  const bool is_load = call->getIntrinsicID() == llvm::Intrinsic::masked_load;
  if (!is_load && call->getIntrinsicID() != llvm::Intrinsic::masked_store) return std::nullopt;
  // load(pointer, align, mask, instead), store(stored, pointer, align, mask)
  const unsigned first = is_load ? 0 : 1;
  Value* const stored = is_load ? nullptr : call->getArgOperand(0);
  auto* const type = llvm::dyn_cast<llvm::FixedVectorType>(is_load ? call->getType() : stored->getType());
  Value* const mask = call->getArgOperand(first + 2);
  if (type == nullptr || llvm::isa<llvm::Constant>(mask)) return std::nullopt;
  return MaskedAccess{call,
                      type,
                      call->getArgOperand(first),
                      llvm::cast<llvm::ConstantInt>(call->getArgOperand(first + 1))->getAlignValue(),
                      mask,
                      stored,
                      is_load ? call->getArgOperand(3) : nullptr};
}

bool has_instruction(const MaskedAccess& access, const llvm::TargetTransformInfo& costs) {
  return access.stored == nullptr ? costs.isLegalMaskedLoad(access.type, access.align)
                                  : costs.isLegalMaskedStore(access.type, access.align);
}

Value* bits_of_mask(const MaskedAccess& access, llvm::IRBuilder<>& b) {
  return b.CreateBitCast(access.mask, b.getIntNTy(access.type->getNumElements()));
}

// Whether the whole vector can be loaded: a lane is active, so the page of its element is readable, and the vector does
// not cross into another page.
Value* can_load_all(const MaskedAccess& access, llvm::IRBuilder<>& b, std::uint64_t bytes) {
  Value* const is_any = b.CreateIsNotNull(bits_of_mask(access, b));
  Value* const in_page =
      b.CreateAnd(b.CreatePtrToInt(access.pointer, b.getInt64Ty()), b.getInt64(kLeastPage - 1));
  // If no lane is active, the address may be poison.
  return b.CreateLogicalAnd(is_any, b.CreateICmpULE(in_page, b.getInt64(kLeastPage - bytes)));
}

// Emits both versions, and a test: the whole vector, and the original access.
void divide(const MaskedAccess& access, std::uint64_t bytes) {
  llvm::IRBuilder<> b(access.instruction);
  const bool is_load = access.stored == nullptr;
  Value* const whole =
      is_load ? can_load_all(access, b, bytes)
              : b.CreateICmpEQ(bits_of_mask(access, b),
                               llvm::Constant::getAllOnesValue(b.getIntNTy(access.type->getNumElements())));
  llvm::Instruction* at_once = nullptr;
  llvm::Instruction* one_by_one = nullptr;
  llvm::MDNode* const likely =
      is_load ? llvm::MDBuilder(b.getContext()).createLikelyBranchWeights() : nullptr;
  llvm::SplitBlockAndInsertIfThenElse(whole, access.instruction->getIterator(), &at_once, &one_by_one,
                                      likely);
  b.SetInsertPoint(at_once);
  llvm::Instruction* const made =
      is_load
          ? static_cast<llvm::Instruction*>(b.CreateAlignedLoad(access.type, access.pointer, access.align))
          : b.CreateAlignedStore(access.stored, access.pointer, access.align);
  made->copyMetadata(*access.instruction);
  Value* fetched = made;
  if (is_load && !llvm::isa<llvm::UndefValue>(access.instead))
    fetched = b.CreateSelect(access.mask, made, access.instead);
  llvm::BasicBlock* const behind = access.instruction->getParent();
  if (is_load) {
    llvm::IRBuilder<> join(behind, behind->begin());
    llvm::PHINode* const result = join.CreatePHI(access.type, 2);
    access.instruction->replaceAllUsesWith(result);
    result->addIncoming(fetched, at_once->getParent());
    result->addIncoming(access.instruction, one_by_one->getParent());
  }
  access.instruction->moveBefore(one_by_one);
}

}  // namespace

void fit_masked_accesses(llvm::Module& module, const llvm::TargetMachine& machine) {
  for (llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    const llvm::TargetTransformInfo costs = machine.getTargetTransformInfo(function);
    llvm::SmallVector<llvm::Instruction*, 16> found;
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      const std::optional<MaskedAccess> access = masked_access(instruction);
      if (access && !has_instruction(*access, costs)) found.push_back(&instruction);
    }
    for (llvm::Instruction* instruction : found) {
      const MaskedAccess access = *masked_access(*instruction);
      const std::uint64_t bytes = function.getDataLayout().getTypeStoreSize(access.type).getFixedValue();
      if (bytes < kLeastPage) divide(access, bytes);
    }
  }
}

}  // namespace dhpvm::codegen
