// SPDX-License-Identifier: Apache-2.0
#include "compiler/check/expr.h"

#include "compiler/check/body_parts.h"
#include "compiler/check/fold.h"

namespace dhpvm::compiler {

using hir::ExprKind;

hir::Expr* ExpressionChecker::expr(const ast::Expr& expr, const Type* expected) {
  if (analysis_.nesting >= Analysis::kMaxNesting) {
    error(expr.range, "this is nested too deeply").help("split it into several functions");
    return wrong(expr.range);
  }
  ++analysis_.nesting;
  if (expected != nullptr && expected->is(TypeKind::kError)) expected = nullptr;
  const bool is_coalesce = expr.kind == ast::ExprKind::kBinary && expr.binary == ast::BinaryOp::kCoalesce;
  const bool has_branches = expr.kind == ast::ExprKind::kIf || expr.kind == ast::ExprKind::kMatch ||
                            expr.kind == ast::ExprKind::kBlock || is_coalesce;
  if (expected != nullptr && !has_branches) {
    // This is the value of the result, or an error.
    if (const Type* value = analysis_.errors().value_in(expected); value != nullptr)
      expected = value->is(TypeKind::kVoid) ? nullptr : value;
  }
  E checked = dispatch(expr, expected);
  --analysis_.nesting;
  return checked;
}

hir::Expr* ExpressionChecker::dispatch(const ast::Expr& expr, const Type* expected) {
  if (!expr.type_arguments.empty() && expr.kind != ast::ExprKind::kCall) {
    error(expr.range, "a type with arguments is no value")
        .help("make an object by calling it, or name a case of an enum: `Name<...>.name`");
    return wrong(expr.range);
  }
  switch (expr.kind) {
    case ast::ExprKind::kError: return wrong(expr.range);
    case ast::ExprKind::kInt: return parts_.literals.int_literal(expr, false, expected);
    case ast::ExprKind::kFloat: return parts_.literals.float_literal(expr, expected);
    case ast::ExprKind::kBool: return boolean(expr.integer != 0, expr.range);
    case ast::ExprKind::kNull: return make(ExprKind::kNull, basic(TypeKind::kNull), expr.range);
    case ast::ExprKind::kString: return string(expr.text, expr.range);
    case ast::ExprKind::kFormat: return parts_.texts.format_expr(expr);
    case ast::ExprKind::kName: return parts_.names.name_expr(expr, expected);
    case ast::ExprKind::kThis:
      if (state_.in_init_frame()) parts_.init_fields.require_initialised(expr.range, "`this` is used");
      return parts_.names.this_value(expr.range);
    case ast::ExprKind::kMember: return parts_.members.member(expr, expected);
    case ast::ExprKind::kIndex: return parts_.arrays.index_expr(expr);
    case ast::ExprKind::kCall: return parts_.calls.call_expr(expr, expected);
    case ast::ExprKind::kNewArray: return parts_.arrays.new_array(expr);
    case ast::ExprKind::kArrayLiteral: return parts_.arrays.array_literal(expr, expected);
    case ast::ExprKind::kMapLiteral: return parts_.collection_literals.map(expr, expected);
    case ast::ExprKind::kSlice: return parts_.array_methods.slice_expr(expr);
    case ast::ExprKind::kTuple: return parts_.tuples.tuple_expr(expr, expected);
    case ast::ExprKind::kUnary: return parts_.operators.unary_expr(expr, expected);
    case ast::ExprKind::kBinary: return parts_.operators.binary_expr(expr, expected);
    case ast::ExprKind::kCast:
    case ast::ExprKind::kCastOrNull: return parts_.conversions.cast(expr);
    case ast::ExprKind::kIs: return parts_.conversions.is_type(expr, nullptr);
    case ast::ExprKind::kUnwrap: return unwrap_expr(expr);
    case ast::ExprKind::kClosure: return parts_.closures.closure_expr(expr, expected);
    case ast::ExprKind::kBlock: return block_expr(expr, expected);
    case ast::ExprKind::kIf: return if_expr(expr, expected);
    case ast::ExprKind::kMatch: return parts_.matching.match_expr(expr, expected);
    case ast::ExprKind::kJump: return parts_.statements.jump_expr(expr);
    case ast::ExprKind::kTry: return parts_.results.try_expr(expr, expected);
    case ast::ExprKind::kTryBlock: return parts_.try_blocks.try_block(expr, expected);
    case ast::ExprKind::kCatch: return parts_.results.catch_expr(expr, expected);
  }
  return wrong(expr.range);
}

hir::Expr* ExpressionChecker::if_expr(const ast::Expr& expr, const Type* expected) {
  Condition test = parts_.narrowing.condition(*expr.operands[0]);
  const Flow before = state_.flow;
  Flow after = before;
  after.reachable = false;
  const ast::Expr& yes = *expr.operands[1];
  const ast::Expr& no = *expr.operands[2];
  E values[2] = {nullptr, nullptr};
  const auto check_branch = [&](int branch, const Type* hint) {
    state_.flow = before;
    parts_.narrowing.learn(branch == 0 ? test.when_true : test.when_false);
    values[branch] = parts_.conversions.value(branch == 0 ? yes : no, hint);
    // A branch that leaves does not affect the code after the conditional.
    if (!values[branch]->type->is(TypeKind::kNever)) after = Narrowing::merge(after, state_.flow);
  };
  // A literal takes the type of the other branch.
  const int first = LiteralChecker::is_flexible(yes) || yes.kind == ast::ExprKind::kNull ? 1 : 0;
  check_branch(first, expected);
  const Type* hint = expected != nullptr ? expected : values[first]->type;
  if (hint->is(TypeKind::kNever)) hint = nullptr;
  check_branch(1 - first, hint);
  state_.flow = after.reachable ? after : before;
  const Type* type = parts_.conversions.common_type(values[0], yes.range, values[1], no.range, expected);
  if (type == nullptr || test.value->type->is(TypeKind::kError)) return wrong(expr.range);
  return make(ExprKind::kConditional, type, expr.range, {test.value, values[0], values[1]});
}

hir::Expr* ExpressionChecker::block_expr(const ast::Expr& expr, const Type* expected) {
  parts_.scopes.open_scope();
  Body statements;
  E value = parts_.statements.block_value(*expr.statement, expected, statements);
  parts_.scopes.close_scope();
  if (value->type->is(TypeKind::kError)) return value;
  if (value->type->is(TypeKind::kNever)) state_.flow.reachable = true;
  if (!value->type->is(TypeKind::kVoid)) return in_block(std::move(statements), value, expr.range);
  const bool ends_in_expression = expr.statement->body.back()->kind == ast::StmtKind::kExpr;
  error(expr.range, "this block can end without giving a value")
      .help("{}", ends_in_expression ? "remove the `;` behind its last expression"
                                     : "end it with a value, without `;`, or leave: `return`, `break`, "
                                       "`continue`, `trap(\"..\")`");
  return wrong(expr.range);
}

hir::Expr* ExpressionChecker::unwrap_expr(const ast::Expr& expr) {
  E operand = parts_.conversions.value(*expr.operands[0]);
  if (operand->type->is(TypeKind::kError)) return operand;
  if (analysis_.errors().is_result(operand->type)) return parts_.results.trap_on_error(operand, expr.range);
  if (!operand->type->is(TypeKind::kNullable)) {
    // Narrowing may have removed the null already; in generic code `!` may be applied to types without null.
    if (operand->kind == ExprKind::kUnwrap || !state_.context.bindings.empty()) return operand;
    error(expr.range, "a '{}' is never null", operand->type->name).help("remove the `!`");
    return wrong(expr.range);
  }
  return make(ExprKind::kCheckNonNull, operand->type->element, expr.range, {operand});
}

hir::Expr* ExpressionChecker::coalesce(const ast::Expr& expr, const Type* expected) {
  // `x ?? Error(..)`, where a result is expected.
  const Type* const outcome = expected;
  const Type* const value = expected != nullptr ? analysis_.errors().value_in(expected) : nullptr;
  if (value != nullptr) expected = value->is(TypeKind::kVoid) ? nullptr : value;
  const Type* hint =
      expected != nullptr && !expected->is(TypeKind::kNullable) ? types().nullable(expected) : expected;
  E left = parts_.conversions.value(*expr.operands[0], hint);
  if (left->type->is(TypeKind::kError)) {
    parts_.conversions.value(*expr.operands[1], expected);
    return left;
  }
  if (!left->type->is(TypeKind::kNullable)) {
    E right = parts_.conversions.value(*expr.operands[1], left->type);
    if (left->kind == ExprKind::kUnwrap || !state_.context.bindings.empty() ||
        right->type->is(TypeKind::kError)) {
      return left;
    }
    Diagnostic& diagnostic =
        error(expr.operator_range, "the left side of `??` is a '{}', which is never null", left->type->name);
    if (analysis_.errors().is_result(left->type)) {
      diagnostic.help("another value in place of an error: `.. catch {{ value }}`");
    } else {
      diagnostic.help("remove the `??` and what follows");
    }
    return wrong(expr.range);
  }
  const Type* element = left->type->element;
  const Flow before_right = state_.flow;
  const bool may_fail = value != nullptr && parts_.conversions.can_coerce(element, outcome);
  E right = parts_.conversions.value(*expr.operands[1], may_fail ? outcome : element);
  // The right operand may not run. If it leaves, the code that follows runs only without it.
  state_.flow =
      right->type->is(TypeKind::kNever) ? before_right : Narrowing::merge(before_right, state_.flow);
  if (right->type->is(TypeKind::kError)) return right;
  const Type* type = element;
  if (may_fail && (right->type == outcome || analysis_.errors().is_error(right->type))) {
    type = outcome;
  } else if (!parts_.conversions.can_coerce(right->type, element) &&
             parts_.conversions.can_coerce(right->type, left->type))
    type = left->type;
  if (!parts_.conversions.can_coerce(right->type, type) &&
      parts_.conversions.can_coerce(element, right->type))
    type = right->type;
  right = parts_.conversions.coerce(right, type, expr.operands[1]->range);
  if (right->type->is(TypeKind::kError)) return right;
  std::vector<hir::Stmt*> before;
  left = stable(left, before);
  E test = make(ExprKind::kIsNull, basic(TypeKind::kBool), expr.range, {left});
  E present = make(ExprKind::kUnwrap, element, expr.range, {left});
  present = parts_.conversions.coerce(present, type, expr.operands[0]->range);
  return in_block(std::move(before), make(ExprKind::kConditional, type, expr.range, {test, right, present}),
                  expr.range);
}

}  // namespace dhpvm::compiler
