// SPDX-License-Identifier: Apache-2.0
#include "codegen/host/quick_casts.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include <cmath>
#include <cstdint>

namespace dhpvm::codegen {
namespace {

using llvm::Value;

struct Features {
  bool rounding = false;    // SSE4.1: of vectors of floats to whole numbers
  bool wide_casts = false;  // AVX-512: of vectors between floats and integers of 64 bits
};

// The middle of the doubles between 2^52 and 2^53, which are spaced by 1: adding it to an integer of at most 51 bits
// leaves that integer in the lowest bits of the sum.
constexpr double kMiddle = 6755399441055744.0;
constexpr std::int64_t kBitsOfMiddle = 0x4338000000000000;
constexpr std::int64_t kLimitOfMiddle = std::int64_t{1} << 51;

// One cast, which `run` replaces.
class CastQuickener {
 public:
  CastQuickener(llvm::Instruction& cast, const Features& features)
      : cast_(cast),
        from_(cast.getOperand(0)),
        to_(cast.getType()),
        bits_(to_->getScalarSizeInBits()),
        is_signed_(is_call(llvm::Intrinsic::fptosi_sat) || llvm::isa<llvm::SIToFPInst>(cast)),
        features_(features),
        b_(&cast) {}

  void run() {
    const bool is_vector = to_->isVectorTy();
    if (llvm::isa<llvm::SIToFPInst, llvm::UIToFPInst>(cast_)) {
      if (is_vector && from_->getType()->getScalarSizeInBits() == 64 && !features_.wide_casts) add_middle();
    } else if (!is_vector) {
      if (is_signed_ && instruction() != llvm::Intrinsic::not_intrinsic) convert_one();
    } else if (bits_ <= 32 || features_.wide_casts) {
      clamp();
    } else if (is_signed_ && features_.rounding) {
      round_to_middle();
    }
  }

 private:
  bool is_call(llvm::Intrinsic::ID id) const {
    const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&cast_);
    return call != nullptr && call->getIntrinsicID() == id;
  }

  // ---- One number

  llvm::Intrinsic::ID instruction() const {
    if (bits_ != 32 && bits_ != 64) return llvm::Intrinsic::not_intrinsic;
    if (from_->getType()->isFloatTy())
      return bits_ == 64 ? llvm::Intrinsic::x86_sse_cvttss2si64 : llvm::Intrinsic::x86_sse_cvttss2si;
    if (from_->getType()->isDoubleTy())
      return bits_ == 64 ? llvm::Intrinsic::x86_sse2_cvttsd2si64 : llvm::Intrinsic::x86_sse2_cvttsd2si;
    return llvm::Intrinsic::not_intrinsic;
  }

  // The instruction converts the first element of a register.
  void convert_one() {
    auto* const registers =
        llvm::FixedVectorType::get(from_->getType(), from_->getType()->isFloatTy() ? 4 : 2);
    Value* const in_register =
        b_.CreateInsertElement(llvm::PoisonValue::get(registers), from_, std::uint64_t{0});
    Value* const quick = b_.CreateFreeze(b_.CreateIntrinsic(instruction(), {}, {in_register}));
    keep_for(quick,
             b_.CreateICmpEQ(quick, llvm::ConstantInt::get(to_, llvm::APInt::getSignedMinValue(bits_))));
  }

  // `quick` replaces the cast, except for inputs that are suspect, which keep it.
  void keep_for(Value* quick, Value* is_suspect) {
    llvm::Instruction* const rare =
        llvm::SplitBlockAndInsertIfThen(is_suspect, cast_.getIterator(), /*Unreachable=*/false,
                                        llvm::MDBuilder(b_.getContext()).createUnlikelyBranchWeights());
    b_.SetInsertPoint(&cast_);
    llvm::PHINode* const result = b_.CreatePHI(to_, 2);
    cast_.replaceAllUsesWith(result);
    result->addIncoming(quick, rare->getParent()->getSinglePredecessor());
    result->addIncoming(&cast_, rare->getParent());
    cast_.moveBefore(rare);
  }

  // ---- Lanes

  Value* number(double x) const { return llvm::ConstantFP::get(from_->getType(), x); }
  Value* integer(llvm::Type* type, const llvm::APInt& x) const { return llvm::ConstantInt::get(type, x); }

  // Clamps numbers to the range between the least integer, which a float represents, and the greatest. NaN, which is
  // not greater than anything, becomes the least.
  void clamp() {
    llvm::Type* const wide = bits_ < 32 ? to_->getWithNewBitWidth(32) : to_;
    const double beyond = std::ldexp(1.0, static_cast<int>(bits_) - (is_signed_ ? 1 : 0));
    const double least = is_signed_ ? -beyond : 0.0;
    const unsigned precision = from_->getType()->getScalarType()->isFloatTy() ? 24 : 53;
    Value* held = b_.CreateSelect(b_.CreateFCmpOGT(from_, number(least)), from_, number(least));
    Value* is_beyond = nullptr;
    if (bits_ <= precision) {
      held = b_.CreateSelect(b_.CreateFCmpOLT(held, number(beyond - 1)), held, number(beyond - 1));
    } else {
      is_beyond = b_.CreateFCmpOGE(from_, number(beyond));
      held = b_.CreateSelect(is_beyond, number(0.0), held);
    }
    Value* result = is_signed_ || bits_ < 32 ? b_.CreateFPToSI(held, wide) : b_.CreateFPToUI(held, wide);
    if (is_beyond != nullptr) {
      const llvm::APInt most =
          is_signed_ ? llvm::APInt::getSignedMaxValue(bits_) : llvm::APInt::getMaxValue(bits_);
      result = b_.CreateSelect(is_beyond, integer(wide, most), result);
    }
    if (is_signed_) {
      Value* const zero = llvm::Constant::getNullValue(wide);
      result = b_.CreateSelect(b_.CreateFCmpUNO(from_, number(0.0)), zero, result);
    }
    cast_.replaceAllUsesWith(b_.CreateTrunc(result, to_));
    cast_.eraseFromParent();
  }

  // Inactive lanes may hold poison, and no branch may depend on them.
  void round_to_middle() {
    from_ = b_.CreateFreeze(from_);
    Value* const doubles = b_.CreateFPExt(from_, to_->getWithNewType(b_.getDoubleTy()));
    Value* const limit = llvm::ConstantFP::get(doubles->getType(), static_cast<double>(kLimitOfMiddle));
    Value* const magnitude = b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, doubles);
    Value* const is_suspect = b_.CreateOrReduce(b_.CreateNot(b_.CreateFCmpOLT(magnitude, limit)));
    Value* const whole = b_.CreateUnaryIntrinsic(llvm::Intrinsic::trunc, doubles);
    Value* const sum = b_.CreateFAdd(whole, llvm::ConstantFP::get(doubles->getType(), kMiddle));
    Value* const quick = b_.CreateSub(b_.CreateBitCast(sum, to_), llvm::ConstantInt::get(to_, kBitsOfMiddle));
    cast_.setOperand(0, from_);
    keep_for(quick, is_suspect);
  }

  void add_middle() {
    from_ = b_.CreateFreeze(from_);
    llvm::Type* const integers = from_->getType();
    llvm::Type* const doubles = to_->getWithNewType(b_.getDoubleTy());
    const auto constant = [&](std::int64_t x) { return llvm::ConstantInt::getSigned(integers, x); };
    // Within the limit on both sides; unsigned ones have at most 51 bits.
    Value* const above = is_signed_ ? b_.CreateAdd(from_, constant(kLimitOfMiddle)) : from_;
    Value* const too_many = b_.CreateLShr(above, constant(is_signed_ ? 52 : 51));
    Value* const is_suspect = b_.CreateIsNotNull(b_.CreateOrReduce(too_many));
    Value* const sum = b_.CreateBitCast(b_.CreateAdd(from_, constant(kBitsOfMiddle)), doubles);
    Value* const quick = b_.CreateFSub(sum, llvm::ConstantFP::get(doubles, kMiddle));
    cast_.setOperand(0, from_);
    keep_for(b_.CreateFPTrunc(quick, to_), is_suspect);
  }

  llvm::Instruction& cast_;
  Value* from_;
  llvm::Type* const to_;
  const unsigned bits_;
  const bool is_signed_;
  const Features features_;
  llvm::IRBuilder<> b_;
};

bool is_cast(const llvm::Instruction& instruction) {
  const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
  if (call == nullptr) return llvm::isa<llvm::SIToFPInst, llvm::UIToFPInst>(instruction);
  return call->getIntrinsicID() == llvm::Intrinsic::fptosi_sat ||
         call->getIntrinsicID() == llvm::Intrinsic::fptoui_sat;
}

}  // namespace

void quicken_casts(llvm::Module& module, const llvm::TargetMachine& machine) {
  if (machine.getTargetTriple().getArch() != llvm::Triple::x86_64) return;
  const llvm::MCSubtargetInfo& subtarget = *machine.getMCSubtargetInfo();
  const Features features = {.rounding = subtarget.checkFeatures("+sse4.1"),
                             .wide_casts = subtarget.checkFeatures("+avx512dq")};
  for (llvm::Function& function : module) {
    llvm::SmallVector<llvm::Instruction*, 8> found;
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      if (is_cast(instruction)) found.push_back(&instruction);
    }
    for (llvm::Instruction* cast : found) CastQuickener(*cast, features).run();
  }
}

}  // namespace dhpvm::codegen
