// SPDX-License-Identifier: Apache-2.0
#include "compiler/lower/constant.h"

#include <bit>
#include <cmath>
#include <type_traits>

#include "compiler/lower/function_parts.h"

namespace dhpvm::compiler {

using hir::Binary;
using hir::ExprKind;

namespace {

// The register of an integer constant: extended to 64 bits by its signedness.
std::int64_t extended(const Type* type, std::uint64_t bits) {
  switch (type->kind) {
    case TypeKind::kBool: return bits != 0 ? 1 : 0;
    case TypeKind::kI8: return static_cast<std::int8_t>(bits);
    case TypeKind::kU8: return static_cast<std::uint8_t>(bits);
    case TypeKind::kI16: return static_cast<std::int16_t>(bits);
    case TypeKind::kU16: return static_cast<std::uint16_t>(bits);
    case TypeKind::kI32: return static_cast<std::int32_t>(bits);
    case TypeKind::kU32: return static_cast<std::uint32_t>(bits);
    default: return static_cast<std::int64_t>(bits);
  }
}

// f32 as a signed number, because that fits into one word; only the low half of the register counts.
std::int64_t bits_of(float number) { return std::bit_cast<std::int32_t>(number); }
std::int64_t bits_of(double number) { return std::bit_cast<std::int64_t>(number); }

std::int64_t float_bits(const Type* type, double number) {
  return type->is(TypeKind::kF32) ? bits_of(static_cast<float>(number)) : bits_of(number);
}

double number_of(const Type* type, std::int64_t bits) {
  return type->is(TypeKind::kF32) ? std::bit_cast<float>(static_cast<std::int32_t>(bits))
                                  : std::bit_cast<double>(bits);
}

template <typename T>
std::optional<std::int64_t> fold_float(Binary op, T a, T b) {
  T result{};
  switch (op) {
    case Binary::kAdd: result = a + b; break;
    case Binary::kSub: result = a - b; break;
    case Binary::kMul: result = a * b; break;
    case Binary::kDiv: result = a / b; break;
    default: return std::nullopt;
  }
  // The executor determines the bits of a NaN, so it is not folded.
  return std::isnan(result) ? std::nullopt : std::optional(bits_of(result));
}

// Folds operations that cannot trap and do not depend on signedness.
std::optional<std::int64_t> fold_integer(Binary op, const Type* type, std::int64_t left, std::int64_t right) {
  const auto a = static_cast<std::uint64_t>(left);
  const auto b = static_cast<std::uint64_t>(right);
  switch (op) {
    case Binary::kAdd: return extended(type, a + b);
    case Binary::kSub: return extended(type, a - b);
    case Binary::kMul: return extended(type, a * b);
    case Binary::kBitAnd: return extended(type, a & b);
    case Binary::kBitOr: return extended(type, a | b);
    case Binary::kBitXor: return extended(type, a ^ b);
    default: return std::nullopt;
  }
}

}  // namespace

bool is_zero(const hir::Expr& e) {
  switch (e.kind) {
    case ExprKind::kNull:
    case ExprKind::kZero: return true;
    case ExprKind::kInt: return e.integer == 0;
    case ExprKind::kFloat: return e.number == 0 && !__builtin_signbit(e.number);
    default: return false;
  }
}

std::optional<std::int64_t> ConstantLowering::constant_of(const Expr& e) const {
  switch (e.kind) {
    case ExprKind::kInt: return extended(e.type, e.integer);
    case ExprKind::kFloat: return float_bits(e.type, e.number);
    case ExprKind::kZero: return e.type->is_primitive() ? std::optional<std::int64_t>(0) : std::nullopt;
    case ExprKind::kLocal: {
      const auto known = known_.find(e.local);
      return known == known_.end() ? std::nullopt : std::optional<std::int64_t>(known->second);
    }
    case ExprKind::kUnary: {
      if (e.unary != hir::Unary::kNegate) return std::nullopt;
      const auto operand = constant_of(*e.operands[0]);
      if (!operand) return std::nullopt;
      if (e.type->is_float()) return float_bits(e.type, -number_of(e.type, *operand));
      return extended(e.type, 0 - static_cast<std::uint64_t>(*operand));
    }
    case ExprKind::kBinary: {
      const Type* type = e.type;
      if (!type->is_number()) return std::nullopt;
      // The right operand first: in a long chain it is the short one.
      const auto right = constant_of(*e.operands[1]);
      const auto left = right ? constant_of(*e.operands[0]) : std::nullopt;
      if (!left) return std::nullopt;
      if (type->is_integer()) return fold_integer(e.binary, type, *left, *right);
      const double a = number_of(type, *left);
      const double b = number_of(type, *right);
      if (type->is(TypeKind::kF64)) return fold_float(e.binary, a, b);
      return fold_float(e.binary, static_cast<float>(a), static_cast<float>(b));
    }
    case ExprKind::kConvert: {
      const Type* from = e.operands[0]->type;
      const auto operand = constant_of(*e.operands[0]);
      if (!operand) return std::nullopt;
      if (from->is_float()) {
        return e.type->is_float() ? std::optional(float_bits(e.type, number_of(from, *operand)))
                                  : std::nullopt;
      }
      if (e.type->is_integer()) return extended(e.type, static_cast<std::uint64_t>(*operand));
      if (from->is(TypeKind::kU64)) return std::nullopt;
      // Exactly one rounding, also to f32.
      return e.type->is(TypeKind::kF32) ? bits_of(static_cast<float>(*operand))
                                        : bits_of(static_cast<double>(*operand));
    }
    default: return std::nullopt;
  }
}

std::optional<std::int16_t> ConstantLowering::immediate_of(const Expr& e) const {
  if (!e.type->is_integer()) return std::nullopt;
  const auto value = constant_of(e);
  if (!value || *value != static_cast<std::int16_t>(*value)) return std::nullopt;
  return static_cast<std::int16_t>(*value);
}

// A register with the value; to be read only.
Register ConstantLowering::constant(std::int64_t value) {
  if (code_.in_loop() && code_.has_room_for_constant()) return code_.constant(value);
  const Register to = registers_.primitive();
  code_.load(to, value);
  return to;
}

}  // namespace dhpvm::compiler
