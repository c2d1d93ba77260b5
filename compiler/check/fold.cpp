// SPDX-License-Identifier: Apache-2.0
#include "compiler/check/fold.h"

#include <cmath>
#include <limits>

namespace dhpvm::compiler {

namespace {

using hir::Binary;
using hir::ExprKind;

ConstantValue integer_value(std::uint64_t value, const Type* type) {
  return {ExprKind::kInt, type, wrap(value, type), 0, {}};
}

ConstantValue float_value(double value, const Type* type) {
  if (type->is(TypeKind::kF32)) value = static_cast<float>(value);
  return {ExprKind::kFloat, type, 0, value, {}};
}

template <typename T>
bool compare(Binary op, const T& a, const T& b) {
  switch (op) {
    case Binary::kEq: return a == b;
    case Binary::kNe: return a != b;
    case Binary::kLt: return a < b;
    case Binary::kLe: return a <= b;
    case Binary::kGt: return a > b;
    default: return a >= b;
  }
}

bool is_comparison(Binary op) {
  switch (op) {
    case Binary::kEq:
    case Binary::kNe:
    case Binary::kLt:
    case Binary::kLe:
    case Binary::kGt:
    case Binary::kGe: return true;
    default: return false;
  }
}

std::optional<ConstantValue> fold_integers(Binary op, const ConstantValue& left, const ConstantValue& right,
                                           const Type* result) {
  const Type* type = left.type;
  const bool is_signed = type->is_signed_integer();
  const std::uint64_t a = left.integer;
  const std::uint64_t b = right.integer;
  const auto sa = static_cast<std::int64_t>(a);
  const auto sb = static_cast<std::int64_t>(b);
  if (is_comparison(op)) {
    return integer_value(is_signed ? compare(op, sa, sb) : compare(op, a, b), result);
  }
  const unsigned shift = static_cast<unsigned>(b) & (bits_of(type) - 1);
  switch (op) {
    case Binary::kAdd: return integer_value(a + b, type);
    case Binary::kSub: return integer_value(a - b, type);
    case Binary::kMul: return integer_value(a * b, type);
    case Binary::kDiv:
      if (b == 0) return std::nullopt;
      if (is_signed) return integer_value(sb == -1 ? 0 - a : static_cast<std::uint64_t>(sa / sb), type);
      return integer_value(a / b, type);
    case Binary::kRem:
      if (b == 0) return std::nullopt;
      if (is_signed) return integer_value(sb == -1 ? 0 : static_cast<std::uint64_t>(sa % sb), type);
      return integer_value(a % b, type);
    case Binary::kBitAnd: return integer_value(a & b, type);
    case Binary::kBitOr: return integer_value(a | b, type);
    case Binary::kBitXor: return integer_value(a ^ b, type);
    case Binary::kShl: return integer_value(a << shift, type);
    case Binary::kShr:
      return integer_value(is_signed ? static_cast<std::uint64_t>(sa >> shift) : a >> shift, type);
    case Binary::kMin: return integer_value((is_signed ? sb < sa : b < a) ? b : a, type);
    case Binary::kMax: return integer_value((is_signed ? sb > sa : b > a) ? b : a, type);
    default: return std::nullopt;
  }
}

std::optional<ConstantValue> fold_floats(Binary op, const ConstantValue& left, const ConstantValue& right,
                                         const Type* result) {
  const Type* type = left.type;
  const double a = left.number;
  const double b = right.number;
  if (is_comparison(op)) return integer_value(compare(op, a, b), result);
  // For f32, one rounding of the exact f64 result equals the f32 operation: 53 >= 2 * 24 + 2.
  switch (op) {
    case Binary::kAdd: return float_value(a + b, type);
    case Binary::kSub: return float_value(a - b, type);
    case Binary::kMul: return float_value(a * b, type);
    case Binary::kDiv: return float_value(a / b, type);
    case Binary::kRem: return float_value(std::fmod(a, b), type);
    case Binary::kMin: return float_value(b < a ? b : a, type);
    case Binary::kMax: return float_value(b > a ? b : a, type);
    default: return std::nullopt;
  }
}

std::uint64_t saturate(double value, const Type* type) {
  if (std::isnan(value)) return 0;
  const unsigned bits = bits_of(type);
  if (type->is_signed_integer()) {
    const double limit = std::ldexp(1.0, static_cast<int>(bits) - 1);
    if (value >= limit) return (std::uint64_t{1} << (bits - 1)) - 1;
    if (value < -limit) return ~std::uint64_t{0} << (bits - 1);
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
  }
  if (value <= 0) return 0;
  if (value >= std::ldexp(1.0, static_cast<int>(bits))) return ~std::uint64_t{0};
  return static_cast<std::uint64_t>(value);
}

std::optional<ConstantValue> fold_convert(const ConstantValue& from, const Type* to) {
  if (from.kind == ExprKind::kInt) {
    if (!to->is_float()) return integer_value(from.integer, to);
    // Conversion through double would round twice.
    if (from.type->is_signed_integer()) {
      const auto value = static_cast<std::int64_t>(from.integer);
      return float_value(to->is(TypeKind::kF32) ? static_cast<float>(value) : static_cast<double>(value), to);
    }
    return float_value(
        to->is(TypeKind::kF32) ? static_cast<float>(from.integer) : static_cast<double>(from.integer), to);
  }
  if (from.kind != ExprKind::kFloat) return std::nullopt;
  if (to->is_float()) return float_value(from.number, to);
  return integer_value(saturate(from.number, to), to);
}

std::optional<ConstantValue> fold_binary(const hir::Expr& expr) {
  const auto left = fold(*expr.operands[0]);
  const auto right = fold(*expr.operands[1]);
  if (!left || !right || left->kind != right->kind) return std::nullopt;
  if (left->kind == ExprKind::kInt) return fold_integers(expr.binary, *left, *right, expr.type);
  if (left->kind == ExprKind::kFloat) return fold_floats(expr.binary, *left, *right, expr.type);
  if (!is_comparison(expr.binary)) return std::nullopt;
  return integer_value(compare(expr.binary, left->text, right->text), expr.type);
}

std::optional<ConstantValue> fold_unary(const hir::Expr& expr) {
  const auto operand = fold(*expr.operands[0]);
  if (!operand) return std::nullopt;
  if (operand->kind == ExprKind::kFloat) {
    return expr.unary == hir::Unary::kNegate ? std::optional(float_value(-operand->number, expr.type))
                                             : std::nullopt;
  }
  if (operand->kind != ExprKind::kInt) return std::nullopt;
  switch (expr.unary) {
    case hir::Unary::kNegate: return integer_value(0 - operand->integer, expr.type);
    case hir::Unary::kNot: return integer_value(operand->integer == 0, expr.type);
    case hir::Unary::kComplement: return integer_value(~operand->integer, expr.type);
  }
  return std::nullopt;
}

}  // namespace

unsigned bits_of(const Type* type) {
  switch (type->kind) {
    case TypeKind::kBool: return 1;
    case TypeKind::kI8:
    case TypeKind::kU8: return 8;
    case TypeKind::kI16:
    case TypeKind::kU16: return 16;
    case TypeKind::kI32:
    case TypeKind::kU32:
    case TypeKind::kF32: return 32;
    default: return 64;
  }
}

std::uint64_t wrap(std::uint64_t value, const Type* type) {
  const unsigned bits = bits_of(type);
  if (bits == 64) return value;
  const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
  value &= mask;
  if (type->is_signed_integer() && (value >> (bits - 1)) != 0) value |= ~mask;
  return value;
}

bool fits(std::uint64_t value, bool negative, const Type* type) {
  const unsigned bits = bits_of(type);
  if (type->is_unsigned_integer())
    return bits == 64 ? !negative || value == 0 : (value >> bits) == 0 && (!negative || value == 0);
  const std::uint64_t limit = std::uint64_t{1} << (bits - 1);
  return negative ? value <= limit : value < limit;
}

std::optional<ConstantValue> fold(const hir::Expr& expr) {
  switch (expr.kind) {
    case ExprKind::kInt: return integer_value(expr.integer, expr.type);
    case ExprKind::kFloat: return float_value(expr.number, expr.type);
    case ExprKind::kString: return ConstantValue{ExprKind::kString, expr.type, 0, 0, expr.text};
    case ExprKind::kUnary: return fold_unary(expr);
    case ExprKind::kBinary: return fold_binary(expr);
    case ExprKind::kAnd:
    case ExprKind::kOr: {
      auto left = fold(*expr.operands[0]);
      if (!left) return std::nullopt;
      if ((left->integer != 0) == (expr.kind == ExprKind::kOr)) return left;
      return fold(*expr.operands[1]);
    }
    case ExprKind::kConditional: {
      const auto condition = fold(*expr.operands[0]);
      if (!condition) return std::nullopt;
      return fold(*expr.operands[condition->integer != 0 ? 1 : 2]);
    }
    case ExprKind::kConvert: {
      const auto operand = fold(*expr.operands[0]);
      if (!operand) return std::nullopt;
      return fold_convert(*operand, expr.type);
    }
    case ExprKind::kStringConcat: {
      ConstantValue joined{ExprKind::kString, expr.type, 0, 0, {}};
      for (const hir::Expr* operand : expr.operands) {
        const auto part = fold(*operand);
        if (!part || part->kind != ExprKind::kString) return std::nullopt;
        joined.text += part->text;
        constexpr std::size_t kMaxText = 1 << 20;  // doubling constants must not fill the memory
        if (joined.text.size() > kMaxText) return std::nullopt;
      }
      return joined;
    }
    case ExprKind::kCallNative: {
      const bool is_signed = expr.native->name == "str.from_i64";
      if (!is_signed && expr.native->name != "str.from_u64") return std::nullopt;
      const auto number = fold(*expr.operands[0]);
      if (!number) return std::nullopt;
      const std::uint64_t value = number->integer;
      return ConstantValue{
          ExprKind::kString, expr.type, 0, 0,
          is_signed ? std::to_string(static_cast<std::int64_t>(value)) : std::to_string(value)};
    }
    case ExprKind::kStringLength: {
      const auto text = fold(*expr.operands[0]);
      if (!text) return std::nullopt;
      return integer_value(text->text.size(), expr.type);
    }
    case ExprKind::kStringCompare: {
      const auto left = fold(*expr.operands[0]);
      const auto right = fold(*expr.operands[1]);
      if (!left || !right) return std::nullopt;
      const int order = left->text.compare(right->text);
      return integer_value(static_cast<std::uint64_t>(order < 0 ? -1 : order > 0 ? 1 : 0), expr.type);
    }
    default: return std::nullopt;
  }
}

}  // namespace dhpvm::compiler
