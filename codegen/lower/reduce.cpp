// SPDX-License-Identifier: Apache-2.0
#include "codegen/lower/reduce.h"

#include "bytecode/reduction.h"

namespace dhpvm::codegen {
namespace {

using bytecode::Kind;
using bytecode::Reduction;
using bytecode::ReductionOp;
using llvm::Value;

// Registers hold narrow integers extended by their signedness.
Value* narrow(llvm::IRBuilderBase& b, Kind kind, Value* value) {
  const unsigned bits = 8 * bytecode::size_of(kind);
  if (bits >= 32) return value;
  const bool is_signed = kind == Kind::kI8 || kind == Kind::kI16;
  llvm::Type* const type = value->getType()->getWithNewBitWidth(bits);
  Value* const cut = b.CreateTrunc(value, type);
  return is_signed ? b.CreateSExt(cut, value->getType()) : b.CreateZExt(cut, value->getType());
}

}  // namespace

llvm::Constant* identity_of_reduction(const Reduction& reduction, llvm::Type* type) {
  const auto width = static_cast<unsigned>(type->getPrimitiveSizeInBits());
  llvm::Type* const bits = llvm::IntegerType::get(type->getContext(), width);
  return llvm::ConstantExpr::getBitCast(llvm::ConstantInt::get(bits, bytecode::identity(reduction)), type);
}

Value* combine(llvm::IRBuilderBase& b, const Reduction& reduction, Value* left, Value* right) {
  const bool is_float = left->getType()->getScalarType()->isFloatingPointTy();
  const Kind kind = reduction.kind;
  const bool is_signed = kind == Kind::kI8 || kind == Kind::kI16 || kind == Kind::kI32 || kind == Kind::kI64;
  switch (reduction.op) {
    case ReductionOp::kAdd:
      return is_float ? b.CreateFAdd(left, right) : narrow(b, kind, b.CreateAdd(left, right));
    case ReductionOp::kMul:
      return is_float ? b.CreateFMul(left, right) : narrow(b, kind, b.CreateMul(left, right));
    case ReductionOp::kMin:
    case ReductionOp::kMax: {
      const bool minimum = reduction.op == ReductionOp::kMin;
      Value* takes_right = nullptr;
      if (is_float) {
        takes_right = minimum ? b.CreateFCmpOLT(right, left) : b.CreateFCmpOGT(right, left);
      } else if (is_signed) {
        takes_right = minimum ? b.CreateICmpSLT(right, left) : b.CreateICmpSGT(right, left);
      } else {
        takes_right = minimum ? b.CreateICmpULT(right, left) : b.CreateICmpUGT(right, left);
      }
      return b.CreateSelect(takes_right, right, left);
    }
    case ReductionOp::kAnd: return b.CreateAnd(left, right);
    case ReductionOp::kOr: return b.CreateOr(left, right);
    case ReductionOp::kXor: break;
  }
  return b.CreateXor(left, right);
}

Value* as_register(llvm::IRBuilderBase& b, Value* value) {
  const auto width = static_cast<unsigned>(value->getType()->getPrimitiveSizeInBits());
  return b.CreateZExt(b.CreateBitCast(value, b.getIntNTy(width)), b.getInt64Ty());
}

}  // namespace dhpvm::codegen
