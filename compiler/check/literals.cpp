// SPDX-License-Identifier: Apache-2.0
#include "compiler/check/literals.h"

#include <algorithm>

#include "compiler/check/body_parts.h"
#include "compiler/check/fold.h"

namespace dhpvm::compiler {

using hir::ExprKind;

const Type* LiteralChecker::suffix_type(std::string_view suffix) {
  for (TypeKind kind : {TypeKind::kI8, TypeKind::kU8, TypeKind::kI16, TypeKind::kU16, TypeKind::kI32,
                        TypeKind::kU32, TypeKind::kI64, TypeKind::kU64, TypeKind::kF32, TypeKind::kF64}) {
    if (basic(kind)->name == suffix) return basic(kind);
  }
  return nullptr;
}

hir::Expr* LiteralChecker::int_literal(const ast::Expr& expr, bool negative, const Type* expected) {
  const Type* type = suffix_type(expr.suffix);
  if (type == nullptr && expected != nullptr) {
    type = expected->is(TypeKind::kNullable) ? expected->element : expected;
    if (!type->is_number()) type = nullptr;
  }
  if (type == nullptr) type = basic(TypeKind::kI64);
  if (type->is_float()) {
    E made = make(ExprKind::kFloat, type, expr.range);
    made->number = static_cast<double>(expr.integer);
    if (type->is(TypeKind::kF32)) made->number = static_cast<float>(expr.integer);
    if (negative) made->number = -made->number;
    return made;
  }
  if (!fits(expr.integer, negative, type)) {
    Diagnostic& diagnostic =
        error(expr.range, "{}{} does not fit in '{}'", negative ? "-" : "", expr.integer, type->name);
    if (type->is_unsigned_integer() && negative) {
      diagnostic.help("'{}' has no negative values", type->name);
    } else if (type->is(TypeKind::kI64) && !negative) {
      diagnostic.help("write `{}u64`, or use a larger type", expr.integer);
    } else {
      diagnostic.help("use a larger type");
    }
    return wrong(expr.range);
  }
  return integer(negative ? 0 - expr.integer : expr.integer, type, expr.range);
}

hir::Expr* LiteralChecker::float_literal(const ast::Expr& expr, const Type* expected) {
  const Type* type = suffix_type(expr.suffix);
  if (type == nullptr && expected != nullptr) {
    type = expected->is(TypeKind::kNullable) ? expected->element : expected;
  }
  if (type == nullptr || !type->is_float()) type = basic(TypeKind::kF64);
  E made = make(ExprKind::kFloat, type, expr.range);
  made->number = type->is(TypeKind::kF32) ? static_cast<float>(expr.number) : expr.number;
  return made;
}

// Whether the type of `expr` adapts to the context: literals and arithmetic on them.
bool LiteralChecker::is_flexible(const ast::Expr& expr) {
  switch (expr.kind) {
    case ast::ExprKind::kInt:
    case ast::ExprKind::kFloat: return expr.suffix.empty();
    case ast::ExprKind::kUnary: return expr.unary != ast::UnaryOp::kNot && is_flexible(*expr.operands[0]);
    case ast::ExprKind::kBinary:
      switch (expr.binary) {
        case ast::BinaryOp::kShl:
        case ast::BinaryOp::kShr: return is_flexible(*expr.operands[0]);
        case ast::BinaryOp::kMul:
        case ast::BinaryOp::kDiv:
        case ast::BinaryOp::kRem:
        case ast::BinaryOp::kAdd:
        case ast::BinaryOp::kSub:
        case ast::BinaryOp::kBitAnd:
        case ast::BinaryOp::kBitXor:
        case ast::BinaryOp::kBitOr: return is_flexible(*expr.operands[0]) && is_flexible(*expr.operands[1]);
        default: return false;
      }
    default: return false;
  }
}

bool LiteralChecker::is_flexible_array(const ast::Expr& expr) {
  return expr.kind == ast::ExprKind::kArrayLiteral && !expr.operands.empty() &&
         std::ranges::all_of(expr.operands, [](const ast::Expr* element) { return is_flexible(*element); });
}

bool LiteralChecker::has_float_literal(const ast::Expr& expr) {
  if (expr.kind == ast::ExprKind::kFloat) return true;
  if (expr.kind != ast::ExprKind::kUnary && expr.kind != ast::ExprKind::kBinary &&
      expr.kind != ast::ExprKind::kArrayLiteral)
    return false;
  for (const ast::Expr* operand : expr.operands) {
    if (has_float_literal(*operand)) return true;
  }
  return false;
}

}  // namespace dhpvm::compiler
