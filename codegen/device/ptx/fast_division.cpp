// SPDX-License-Identifier: Apache-2.0
#include "codegen/device/ptx/fast_division.h"

#include <llvm/ADT/SmallVector.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/IR/PatternMatch.h>

#include <algorithm>
#include <utility>

namespace dhpvm::codegen::ptx {
namespace {

using llvm::BinaryOperator;
using llvm::Instruction;
using llvm::Value;

bool is_remainder(const BinaryOperator& division) {
  return division.getOpcode() == Instruction::SRem || division.getOpcode() == Instruction::URem;
}

bool has_sign(const BinaryOperator& division) {
  return division.getOpcode() == Instruction::SDiv || division.getOpcode() == Instruction::SRem;
}

// The parameter that is the divisor. The lowering replaces -1 by 1, for which the results are the same except for the
// sign of quotients, which the lowering corrects.
const llvm::Argument* divisor_of(const BinaryOperator& division) {
  using namespace llvm::PatternMatch;
  Value* divisor = division.getOperand(1);
  Value* tested = nullptr;
  Value* other = nullptr;
  llvm::ICmpInst::Predicate predicate{};
  if (match(divisor, m_Select(m_ICmp(predicate, m_Value(tested), m_AllOnes()), m_One(), m_Value(other))) &&
      predicate == llvm::ICmpInst::ICMP_EQ && tested == other)
    divisor = other;
  return llvm::dyn_cast<llvm::Argument>(divisor);
}

class Divider {
 public:
  Divider(DeviceEntry& entry, BinaryOperator& division, const llvm::Argument& divisor)
      : entry_(entry),
        layout_(entry.function->getDataLayout()),
        division_(division),
        b_(&division),
        divisor_(*entry.function->getArg(divisor.getArgNo())),
        is_positive_(is_not_negative(divisor_)) {}

  // Null if the division must stay.
  Value* replace() {
    const KernelParameter& parameter = entry_.parameters[divisor_.getArgNo()];
    const bool has_constants =
        std::ranges::find(entry_.parameters, with(parameter, ParameterForm::kMultiplier)) !=
        entry_.parameters.end();
    if (!has_constants || (!has_sign(division_) && !is_positive_)) return nullptr;
    return leading_zeros() > 32 ? divide_small() : divide();
  }

 private:
  bool is_not_negative(const Value& value) const {
    return llvm::computeKnownBits(&value, layout_).isNonNegative();
  }
  unsigned leading_zeros() const {
    return llvm::computeKnownBits(division_.getOperand(0), layout_).countMinLeadingZeros();
  }
  static KernelParameter with(KernelParameter parameter, ParameterForm form) {
    parameter.form = form;
    return parameter;
  }
  Value* constant(ParameterForm form) const {
    const KernelParameter wanted = with(entry_.parameters[divisor_.getArgNo()], form);
    const auto found = std::ranges::find(entry_.parameters, wanted);
    return entry_.function->getArg(static_cast<unsigned>(found - entry_.parameters.begin()));
  }
  Value* narrow(Value* value) { return b_.CreateTrunc(value, b_.getInt32Ty()); }
  Value* sign_of(Value* value) { return b_.CreateAShr(value, 63); }
  // The negated value if all bits of `sign` are set.
  Value* with_sign(Value* value, Value* sign) { return b_.CreateSub(b_.CreateXor(value, sign), sign); }

  // The dividend is below 2^31.
  Value* divide_small() {
    Value* const dividend = narrow(division_.getOperand(0));
    Value* const high = b_.CreateIntrinsic(llvm::Intrinsic::nvvm_mulhi_ui, {},
                                           {dividend, narrow(constant(ParameterForm::kSmallMultiplier))});
    Value* const quotient =
        b_.CreateLShr(b_.CreateAdd(high, dividend), narrow(constant(ParameterForm::kSmallShift)));
    Value* const sign = is_positive_ ? nullptr : sign_of(&divisor_);
    if (is_remainder(division_)) {
      Value* const magnitude = sign == nullptr ? &divisor_ : with_sign(&divisor_, sign);
      Value* const rest = b_.CreateSub(dividend, b_.CreateMul(quotient, narrow(magnitude)));
      return b_.CreateZExt(rest, b_.getInt64Ty(), "", /*IsNonNeg=*/true);
    }
    Value* const wide = b_.CreateZExt(quotient, b_.getInt64Ty(), "", /*IsNonNeg=*/true);
    return sign == nullptr ? wide : with_sign(wide, sign);
  }

  Value* divide() {
    Value* const dividend = division_.getOperand(0);
    const bool may_be_negative = has_sign(division_) && !is_not_negative(*dividend);
    // Unsigned dividends may have all 64 bits, for which the sum would overflow.
    if (!has_sign(division_) && leading_zeros() == 0) return nullptr;
    Value* const sign = may_be_negative ? sign_of(dividend) : nullptr;
    Value* const magnitude = sign == nullptr ? dividend : with_sign(dividend, sign);
    Value* const high = b_.CreateIntrinsic(llvm::Intrinsic::nvvm_mulhi_ull, {},
                                           {magnitude, constant(ParameterForm::kMultiplier)});
    Value* quotient = b_.CreateLShr(b_.CreateAdd(high, magnitude), constant(ParameterForm::kShift));
    Value* signs = sign;
    if (!is_positive_) signs = sign == nullptr ? sign_of(&divisor_) : b_.CreateXor(sign, sign_of(&divisor_));
    if (signs != nullptr) quotient = with_sign(quotient, signs);
    return is_remainder(division_) ? b_.CreateSub(dividend, b_.CreateMul(quotient, &divisor_)) : quotient;
  }

  DeviceEntry& entry_;
  const llvm::DataLayout& layout_;
  BinaryOperator& division_;
  llvm::IRBuilder<> b_;
  llvm::Argument& divisor_;
  const bool is_positive_;
};

}  // namespace

void divide_by_parameters(DeviceEntry& entry) {
  llvm::SmallVector<std::pair<BinaryOperator*, const llvm::Argument*>> divisions;
  for (Instruction& instruction : llvm::instructions(*entry.function)) {
    auto* const division = llvm::dyn_cast<BinaryOperator>(&instruction);
    if (division == nullptr || !division->isIntDivRem() || !division->getType()->isIntegerTy(64)) continue;
    if (const llvm::Argument* const divisor = divisor_of(*division))
      divisions.emplace_back(division, divisor);
  }
  for (const auto& [division, divisor] : divisions) {
    if (Value* const value = Divider(entry, *division, *divisor).replace()) {
      division->replaceAllUsesWith(value);
      division->eraseFromParent();
    }
  }
}

}  // namespace dhpvm::codegen::ptx
