// SPDX-License-Identifier: Apache-2.0
#include "codegen/host/saturating_casts.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

namespace dhpvm::codegen {
namespace {

using llvm::Value;

// The instruction that converts one number of these types, if there is one.
llvm::Intrinsic::ID instruction_for(const llvm::Type& from, const llvm::Type& to) {
  const bool is_wide = to.isIntegerTy(64);
  if (!is_wide && !to.isIntegerTy(32)) return llvm::Intrinsic::not_intrinsic;
  if (from.isFloatTy())
    return is_wide ? llvm::Intrinsic::x86_sse_cvttss2si64 : llvm::Intrinsic::x86_sse_cvttss2si;
  if (from.isDoubleTy())
    return is_wide ? llvm::Intrinsic::x86_sse2_cvttsd2si64 : llvm::Intrinsic::x86_sse2_cvttsd2si;
  return llvm::Intrinsic::not_intrinsic;
}

// Vectors of 32-bit integers, and with AVX-512 of 64-bit ones, have instructions that LLVM uses well.
bool goes_lane_by_lane(const llvm::IntrinsicInst& cast) {
  return cast.getType()->isVectorTy() && cast.getType()->getScalarSizeInBits() == 64;
}

class CastQuickener {
 public:
  explicit CastQuickener(llvm::IntrinsicInst& cast)
      : cast_(cast), from_(*cast.getArgOperand(0)), b_(&cast), to_(cast.getType()->getScalarType()) {}

  void run() {
    // Inactive lanes may hold poison, on which no branch may depend.
    Value* const quick = b_.CreateFreeze(cast_.getType()->isVectorTy() ? convert_lanes() : convert(&from_));
    Value* const least =
        llvm::ConstantInt::get(cast_.getType(), llvm::APInt::getSignedMinValue(to_->getScalarSizeInBits()));
    Value* is_suspect = b_.CreateICmpEQ(quick, least);
    if (is_suspect->getType()->isVectorTy()) is_suspect = b_.CreateOrReduce(is_suspect);
    llvm::Instruction* const rare =
        llvm::SplitBlockAndInsertIfThen(is_suspect, cast_.getIterator(), /*Unreachable=*/false,
                                        llvm::MDBuilder(b_.getContext()).createUnlikelyBranchWeights());
    b_.SetInsertPoint(&cast_);
    llvm::PHINode* const result = b_.CreatePHI(cast_.getType(), 2);
    cast_.replaceAllUsesWith(result);
    result->addIncoming(quick, llvm::cast<llvm::Instruction>(is_suspect)->getParent());
    result->addIncoming(&cast_, rare->getParent());
    cast_.moveBefore(rare);
  }

 private:
  // The instruction takes the first number of a register.
  Value* convert(Value* number) {
    const llvm::Intrinsic::ID instruction = instruction_for(*from_.getType()->getScalarType(), *to_);
    auto* const registers =
        llvm::FixedVectorType::get(number->getType(), number->getType()->isFloatTy() ? 4 : 2);
    Value* const in_register =
        b_.CreateInsertElement(llvm::PoisonValue::get(registers), number, std::uint64_t{0});
    return b_.CreateIntrinsic(instruction, {}, {in_register});
  }

  Value* convert_lanes() {
    Value* result = llvm::PoisonValue::get(cast_.getType());
    const unsigned lanes = llvm::cast<llvm::FixedVectorType>(cast_.getType())->getNumElements();
    for (unsigned lane = 0; lane < lanes; ++lane)
      result = b_.CreateInsertElement(result, convert(b_.CreateExtractElement(&from_, lane)), lane);
    return result;
  }

  llvm::IntrinsicInst& cast_;
  Value& from_;
  llvm::IRBuilder<> b_;
  llvm::Type* const to_;
};

bool wants_it(const llvm::IntrinsicInst& cast, bool has_wide_vectors) {
  if (cast.getIntrinsicID() != llvm::Intrinsic::fptosi_sat) return false;
  const llvm::Type& from = *cast.getArgOperand(0)->getType()->getScalarType();
  if (instruction_for(from, *cast.getType()->getScalarType()) == llvm::Intrinsic::not_intrinsic) return false;
  return !cast.getType()->isVectorTy() || (goes_lane_by_lane(cast) && !has_wide_vectors);
}

}  // namespace

void quicken_saturating_casts(llvm::Module& module, const llvm::TargetMachine& machine) {
  if (machine.getTargetTriple().getArch() != llvm::Triple::x86_64) return;
  const bool has_wide_vectors = machine.getMCSubtargetInfo()->checkFeatures("+avx512dq");
  for (llvm::Function& function : module) {
    llvm::SmallVector<llvm::IntrinsicInst*, 8> found;
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      auto* const call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
      if (call != nullptr && wants_it(*call, has_wide_vectors)) found.push_back(call);
    }
    for (llvm::IntrinsicInst* cast : found) CastQuickener(*cast).run();
  }
}

}  // namespace dhpvm::codegen
