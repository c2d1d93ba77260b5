// SPDX-License-Identifier: Apache-2.0
#include "compiler/lower/arithmetic.h"

#include <bit>
#include <limits>

#include "compiler/lower/function_parts.h"

namespace dhpvm::compiler {

using bytecode::Op;
using hir::Binary;

namespace {

enum class Family : std::uint8_t { kI32, kU32, kI64, kU64, kF32, kF64, kOther };

// The family of instructions for a type.
Family family_of(const Type* type) {
  switch (type->kind) {
    case TypeKind::kBool:
    case TypeKind::kI8:
    case TypeKind::kU8:
    case TypeKind::kI16:
    case TypeKind::kU16:
    case TypeKind::kI32: return Family::kI32;
    case TypeKind::kU32: return Family::kU32;
    case TypeKind::kI64: return Family::kI64;
    case TypeKind::kU64: return Family::kU64;
    case TypeKind::kF32: return Family::kF32;
    case TypeKind::kF64: return Family::kF64;
    default: return Family::kOther;
  }
}

Op pick(Family family, Op i32, Op u32, Op i64, Op u64, Op f32 = Op::kNop, Op f64 = Op::kNop) {
  switch (family) {
    case Family::kI32: return i32;
    case Family::kU32: return u32;
    case Family::kI64: return i64;
    case Family::kU64: return u64;
    case Family::kF32: return f32;
    case Family::kF64: return f64;
    default: return Op::kNop;
  }
}

Op arithmetic_op(Binary op, const Type* type) {
  const Family family = family_of(type);
  switch (op) {
    case Binary::kAdd:
      return pick(family, Op::kAddI32, Op::kAddI32, Op::kAddI64, Op::kAddI64, Op::kAddF32, Op::kAddF64);
    case Binary::kSub:
      return pick(family, Op::kSubI32, Op::kSubI32, Op::kSubI64, Op::kSubI64, Op::kSubF32, Op::kSubF64);
    case Binary::kMul:
      return pick(family, Op::kMulI32, Op::kMulI32, Op::kMulI64, Op::kMulI64, Op::kMulF32, Op::kMulF64);
    case Binary::kDiv:
      return pick(family, Op::kDivI32, Op::kDivU32, Op::kDivI64, Op::kDivU64, Op::kDivF32, Op::kDivF64);
    case Binary::kRem:
      return pick(family, Op::kRemI32, Op::kRemU32, Op::kRemI64, Op::kRemU64, Op::kRemF32, Op::kRemF64);
    case Binary::kMin:
      return pick(family, Op::kMinI32, Op::kMinU32, Op::kMinI64, Op::kMinU64, Op::kMinF32, Op::kMinF64);
    case Binary::kMax:
      return pick(family, Op::kMaxI32, Op::kMaxU32, Op::kMaxI64, Op::kMaxU64, Op::kMaxF32, Op::kMaxF64);
    case Binary::kShl: return pick(family, Op::kShlI32, Op::kShlI32, Op::kShlI64, Op::kShlI64);
    case Binary::kShr: return pick(family, Op::kShrI32, Op::kShrU32, Op::kShrI64, Op::kShrU64);
    case Binary::kBitAnd: return Op::kAndI64;
    case Binary::kBitOr: return Op::kOrI64;
    case Binary::kBitXor: return Op::kXorI64;
    default: return Op::kNop;
  }
}

bool is_small(const Type* type) {
  return type->is(TypeKind::kI8) || type->is(TypeKind::kU8) || type->is(TypeKind::kI16) ||
         type->is(TypeKind::kU16);
}

unsigned bits_of(const Type* type) {
  switch (type->kind) {
    case TypeKind::kI8:
    case TypeKind::kU8: return 8;
    case TypeKind::kI16:
    case TypeKind::kU16: return 16;
    case TypeKind::kI64:
    case TypeKind::kU64: return 64;
    default: return 32;
  }
}

// Whether the 32-bit result may be out of range for a smaller type. Division: only -128 / -1.
bool may_leave_range(Binary op, const Type* type) {
  switch (op) {
    case Binary::kAdd:
    case Binary::kSub:
    case Binary::kMul:
    case Binary::kShl: return true;
    case Binary::kDiv: return type->is_signed_integer();
    default: return false;
  }
}

bool is_commutative(Binary op) {
  switch (op) {
    case Binary::kAdd:
    case Binary::kMul:
    case Binary::kBitAnd:
    case Binary::kBitOr:
    case Binary::kBitXor: return true;
    default: return false;
  }
}

bool is_comparison(Binary op) { return op >= Binary::kEq && op <= Binary::kGe; }

// The exponent of a power of two above 1.
std::optional<int> power_of_two(std::optional<std::int64_t> value) {
  if (!value || *value < 2 || !std::has_single_bit(static_cast<std::uint64_t>(*value))) return std::nullopt;
  return std::countr_zero(static_cast<std::uint64_t>(*value));
}

}  // namespace

void ArithmeticLowering::wrap_to(const Type* type, Register at) {
  switch (type->kind) {
    case TypeKind::kI8: return code_.emit(Op::kSignExtend8, at, at);
    case TypeKind::kU8: return code_.emit(Op::kZeroExtend8, at, at);
    case TypeKind::kI16: return code_.emit(Op::kSignExtend16, at, at);
    case TypeKind::kU16: return code_.emit(Op::kZeroExtend16, at, at);
    default: return;
  }
}

void ArithmeticLowering::unary(const Expr& e, Register to) {
  const Register from = scalar(*e.operands[0]);
  const Family family = family_of(e.type);
  switch (e.unary) {
    case hir::Unary::kNot: return code_.emit(Op::kNotBool, to, from);
    case hir::Unary::kNegate:
      code_.emit(pick(family, Op::kNegI32, Op::kNegI32, Op::kNegI64, Op::kNegI64, Op::kNegF32, Op::kNegF64),
                 to, from);
      return wrap_to(e.type, to);
    case hir::Unary::kComplement:
      code_.emit(pick(family, Op::kNotI32, Op::kNotI32, Op::kNotI64, Op::kNotI64), to, from);
      if (e.type->is_unsigned_integer()) wrap_to(e.type, to);
      return;
  }
}

void ArithmeticLowering::binary(const Expr& e, Register to) {
  if (is_comparison(e.binary)) return compare(e, to);
  const Expr* left = e.operands[0];
  const Expr* right = e.operands[1];
  // Constants to the right, which is the operand of immediates.
  if (is_commutative(e.binary) && constant_of(*left) && !constant_of(*right)) std::swap(left, right);
  arithmetic(e.binary, left->type, to, scalar(*left), *right);
}

void ArithmeticLowering::arithmetic(Binary op, const Type* type, Register to, Register left,
                                    const Expr& right) {
  if (op == Binary::kShl || op == Binary::kShr) return shift(op, type, to, left, right);
  if (!immediate_arithmetic(op, type, to, left, right))
    code_.emit(arithmetic_op(op, type), to, left, scalar(right));
  if (may_leave_range(op, type)) wrap_to(type, to);
}

bool ArithmeticLowering::immediate_arithmetic(Binary op, const Type* type, Register to, Register left,
                                              const Expr& right) {
  if (!type->is_integer()) return false;
  const bool wide = is_64_bit(type);
  const auto small = parts_.constants.immediate_of(right);
  const auto immediate = [&](Op narrow_op, Op wide_op, std::int32_t value) {
    code_.emit(wide ? wide_op : narrow_op, to, left, static_cast<std::uint16_t>(value));
    return true;
  };
  switch (op) {
    case Binary::kAdd: return small && immediate(Op::kAddImmI32, Op::kAddImmI64, *small);
    case Binary::kSub:
      return small && *small != std::numeric_limits<std::int16_t>::min() &&
             immediate(Op::kAddImmI32, Op::kAddImmI64, -*small);
    case Binary::kMul: return small && immediate(Op::kMulImmI32, Op::kMulImmI64, *small);
    case Binary::kBitAnd: return small && immediate(Op::kAndImmI64, Op::kAndImmI64, *small);
    // Unsigned division by a power of two.
    case Binary::kDiv: {
      const auto exponent = power_of_two(constant_of(right));
      return type->is_unsigned_integer() && exponent && immediate(Op::kShrImmU32, Op::kShrImmU64, *exponent);
    }
    case Binary::kRem: {
      const auto exponent = power_of_two(constant_of(right));
      return type->is_unsigned_integer() && exponent && *exponent < 15 &&
             immediate(Op::kAndImmI64, Op::kAndImmI64, (1 << *exponent) - 1);
    }
    default: return false;
  }
}

// Counts are taken modulo the width; the instructions do so for 32 and 64 bits. They read the low half of the count's
// register, so any integer type works.
void ArithmeticLowering::shift(Binary op, const Type* type, Register to, Register left, const Expr& right) {
  const unsigned mask = bits_of(type) - 1;
  const Family family = family_of(type);
  if (const auto count = constant_of(right)) {
    const Op immediate = op == Binary::kShl
                             ? pick(family, Op::kShlImmI32, Op::kShlImmI32, Op::kShlImmI64, Op::kShlImmI64)
                             : pick(family, Op::kShrImmI32, Op::kShrImmU32, Op::kShrImmI64, Op::kShrImmU64);
    code_.emit(immediate, to, left, static_cast<std::uint32_t>(*count) & mask);
  } else {
    Register amount = scalar(right);
    if (is_small(type)) {
      const Register masked = registers_.primitive();
      code_.emit(Op::kAndImmI64, masked, amount, mask);
      amount = masked;
    }
    code_.emit(arithmetic_op(op, type), to, left, amount);
  }
  if (may_leave_range(op, type)) wrap_to(type, to);
}

// A comparison as a value.
void ArithmeticLowering::compare(const Expr& e, Register to) {
  const Type* type = e.operands[0]->type;
  const Leaves& types = leaves(type);
  const bool negated = e.binary == Binary::kNe;
  if (type->is(TypeKind::kStruct) || types.size() != 1) return parts_.expressions.truth(e, Target{{&to, 1}});
  Register left = scalar(*e.operands[0]);
  Register right = scalar(*e.operands[1]);
  if (type->is_reference()) {
    code_.emit(types[0].type == bytecode::kStringType ? Op::kStringEq : Op::kEqRef, to, left, right);
    if (negated) code_.emit(Op::kNotBool, to, to);
    return;
  }
  const bool swap = e.binary == Binary::kGt || e.binary == Binary::kGe;
  if (swap) std::swap(left, right);
  const Family family = family_of(type);
  switch (e.binary) {
    case Binary::kEq:
      return code_.emit(pick(family, Op::kEqI32, Op::kEqI32, Op::kEqI64, Op::kEqI64, Op::kEqF32, Op::kEqF64),
                        to, left, right);
    case Binary::kNe:
      return code_.emit(pick(family, Op::kNeI32, Op::kNeI32, Op::kNeI64, Op::kNeI64, Op::kNeF32, Op::kNeF64),
                        to, left, right);
    case Binary::kLt:
    case Binary::kGt:
      return code_.emit(pick(family, Op::kLtI32, Op::kLtU32, Op::kLtI64, Op::kLtU64, Op::kLtF32, Op::kLtF64),
                        to, left, right);
    default:
      return code_.emit(pick(family, Op::kLeI32, Op::kLeU32, Op::kLeI64, Op::kLeU64, Op::kLeF32, Op::kLeF64),
                        to, left, right);
  }
}

// From one number type to another; not for pairs that share the register (see same_register).
void ArithmeticLowering::convert(const Type* to_type, const Type* from_type, Register to, Register from) {
  const Family source = family_of(from_type);
  const bool from_float = source == Family::kF32 || source == Family::kF64;
  switch (to_type->kind) {
    case TypeKind::kI8:
    case TypeKind::kU8:
    case TypeKind::kI16:
    case TypeKind::kU16:
      if (from_float) {
        // Saturating, like every conversion from floating point.
        code_.emit(source == Family::kF32 ? Op::kF32ToI32 : Op::kF64ToI32, to, from);
        const std::int32_t values = 1 << bits_of(to_type);
        return to_type->is_signed_integer() ? clamp(to, -values / 2, values / 2 - 1)
                                            : clamp(to, 0, values - 1);
      }
      switch (to_type->kind) {
        case TypeKind::kI8: return code_.emit(Op::kSignExtend8, to, from);
        case TypeKind::kU8: return code_.emit(Op::kZeroExtend8, to, from);
        case TypeKind::kI16: return code_.emit(Op::kSignExtend16, to, from);
        default: return code_.emit(Op::kZeroExtend16, to, from);
      }
    case TypeKind::kI32:
      return code_.emit(
          pick(source, Op::kMoveP, Op::kMoveP, Op::kI64ToI32, Op::kI64ToI32, Op::kF32ToI32, Op::kF64ToI32),
          to, from);
    case TypeKind::kU32:
      return code_.emit(
          pick(source, Op::kU32ToU64, Op::kMoveP, Op::kI64ToI32, Op::kI64ToI32, Op::kF32ToU32, Op::kF64ToU32),
          to, from);
    case TypeKind::kI64:
      return code_.emit(
          pick(source, Op::kI32ToI64, Op::kU32ToU64, Op::kMoveP, Op::kMoveP, Op::kF32ToI64, Op::kF64ToI64),
          to, from);
    case TypeKind::kU64:
      return code_.emit(
          pick(source, Op::kI32ToI64, Op::kU32ToU64, Op::kMoveP, Op::kMoveP, Op::kF32ToU64, Op::kF64ToU64),
          to, from);
    case TypeKind::kF32:
      return code_.emit(
          pick(source, Op::kI32ToF32, Op::kU32ToF32, Op::kI64ToF32, Op::kU64ToF32, Op::kMoveP, Op::kF64ToF32),
          to, from);
    case TypeKind::kF64:
      return code_.emit(
          pick(source, Op::kI32ToF64, Op::kU32ToF64, Op::kI64ToF64, Op::kU64ToF64, Op::kF32ToF64, Op::kMoveP),
          to, from);
    default: return;
  }
}

void ArithmeticLowering::clamp(Register at, std::int32_t low, std::int32_t high) {
  Scope scope(*this);
  code_.emit(Op::kMaxI32, at, at, constant(low));
  code_.emit(Op::kMinI32, at, at, constant(high));
}

}  // namespace dhpvm::compiler
