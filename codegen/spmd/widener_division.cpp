// SPDX-License-Identifier: Apache-2.0
// Division of integers. Processors have none for vectors, and LLVM would scalarise it; but they divide floats, and a
// double is wide enough.
//
// For integers x and y with |x| + |y| < 2^53, cutting off the fraction of the rounded quotient of doubles
// gives the quotient of integers: where x / y is no integer, it is at least 1 / |y| away from the next one, and
// rounding moves it by at most 2^-53 |x / y|, which is less.
#include <llvm/IR/MDBuilder.h>

#include "codegen/spmd/widener.h"

namespace dhpvm::codegen::spmd {
namespace {

constexpr std::uint64_t kSmall = 1ULL << 52;

bool is_signed_division(const llvm::BinaryOperator& instruction) {
  return instruction.getOpcode() == llvm::Instruction::SDiv ||
         instruction.getOpcode() == llvm::Instruction::SRem;
}

bool is_remainder(const llvm::BinaryOperator& instruction) {
  return instruction.getOpcode() == llvm::Instruction::SRem ||
         instruction.getOpcode() == llvm::Instruction::URem;
}

// By doubles. `converts_signed`: both operands are the same number as signed and as unsigned integers.
llvm::Value* divide_as_doubles(llvm::IRBuilder<>& builder, llvm::Value* left, llvm::Value* right,
                               bool remainder, bool converts_signed) {
  auto* type = llvm::cast<llvm::VectorType>(left->getType());
  llvm::Type* doubles = llvm::VectorType::get(builder.getDoubleTy(), type->getElementCount());
  const auto to_double = [&](llvm::Value* value) {
    return converts_signed ? builder.CreateSIToFP(value, doubles) : builder.CreateUIToFP(value, doubles);
  };
  llvm::Value* rounded = builder.CreateFDiv(to_double(left), to_double(right));
  llvm::Value* quotient =
      converts_signed ? builder.CreateFPToSI(rounded, type) : builder.CreateFPToUI(rounded, type);
  return remainder ? builder.CreateSub(left, builder.CreateMul(quotient, right)) : quotient;
}

}  // namespace

llvm::Value* Widener::divide(const llvm::BinaryOperator& instruction, llvm::Value* left, llvm::Value* right) {
  const unsigned bits = instruction.getType()->getScalarSizeInBits();
  // LLVM turns divisions by constants into multiplications.
  if (bits > 64 || llvm::isa<llvm::ConstantInt>(instruction.getOperand(1))) {
    return builder_.CreateBinOp(instruction.getOpcode(), left, right);
  }
  const bool is_signed = is_signed_division(instruction);
  const bool remainder = is_remainder(instruction);
  if (bits <= 32) return divide_as_doubles(builder_, left, right, remainder, is_signed);

  llvm::Value* small = builder_.CreateAnd(all_are_small(instruction.getOperand(0), left, is_signed),
                                          all_are_small(instruction.getOperand(1), right, is_signed));
  llvm::LLVMContext& context = result_.getContext();
  llvm::BasicBlock* by_doubles = llvm::BasicBlock::Create(context, "divide", &result_);
  llvm::BasicBlock* by_lanes = llvm::BasicBlock::Create(context, "divide.large", &result_);
  llvm::BasicBlock* after = llvm::BasicBlock::Create(context, "divided", &result_);
  builder_.CreateCondBr(small, by_doubles, by_lanes, llvm::MDBuilder(context).createLikelyBranchWeights());
  builder_.SetInsertPoint(by_doubles);
  llvm::Value* quick = divide_as_doubles(builder_, left, right, remainder, /*converts_signed=*/true);
  builder_.CreateBr(after);
  builder_.SetInsertPoint(by_lanes);
  llvm::Value* slow = builder_.CreateBinOp(instruction.getOpcode(), left, right);
  builder_.CreateBr(after);
  builder_.SetInsertPoint(after);
  llvm::PHINode* result = builder_.CreatePHI(left->getType(), 2);
  result->addIncoming(quick, by_doubles);
  result->addIncoming(slow, by_lanes);
  return result;
}

// i1: whether the absolute value is below kSmall in every active lane.
llvm::Value* Widener::all_are_small(const llvm::Value* scalar, llvm::Value* vector, bool is_signed) {
  const auto is_small = [&](llvm::Value* value) {
    llvm::Type* type = value->getType();
    if (!is_signed) return builder_.CreateICmpULT(value, llvm::ConstantInt::get(type, kSmall));
    // From -kSmall to kSmall - 1.
    llvm::Value* moved = builder_.CreateAdd(value, llvm::ConstantInt::get(type, kSmall));
    return builder_.CreateICmpULT(moved, llvm::ConstantInt::get(type, 2 * kSmall));
  };
  if (values_.shape(scalar).is_uniform()) return is_small(values_.scalar(scalar));
  llvm::Value* small =
      blend(mask_, is_small(vector), llvm::ConstantInt::getTrue(widen(builder_.getInt1Ty(), width_)));
  llvm::Value* lanes = builder_.CreateBitCast(small, builder_.getIntNTy(width_));
  return builder_.CreateICmpEQ(lanes, llvm::ConstantInt::getAllOnesValue(lanes->getType()));
}

}  // namespace dhpvm::codegen::spmd
