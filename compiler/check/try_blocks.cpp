// SPDX-License-Identifier: Apache-2.0
#include "compiler/check/try_blocks.h"

#include <utility>

#include "compiler/check/body_parts.h"

namespace dhpvm::compiler {

using hir::ExprKind;
using hir::StmtKind;

hir::Local* TryBlockChecker::error_here() const {
  const auto known = errors_.find(state_.frame);
  return known == errors_.end() ? nullptr : known->second;
}

hir::Expr* TryBlockChecker::try_block(const ast::Expr& expr, const Type* expected) {
  const Range range = expr.range;
  if (state_.in_kernel()) {
    error(expr.operator_range, "a parallel loop cannot catch traps")
        .help("put the whole loop into `try {{ .. }} catch err {{ .. }}`");
    return wrong(range);
  }
  if (state_.frame->function == nullptr) {
    error(expr.operator_range, "`try` stands in functions only");
    return wrong(range);
  }
  const Type* type = analysis_.errors().error(expr.operator_range);
  if (type->is(TypeKind::kError)) return wrong(range);
  hir::Local* const failure = temporary(types().nullable(type));
  // A trap may occur before or after any assignment in the block.
  const Flow entry = state_.flow;
  parts_.narrowing.forget_assigned_in(expr.statement->range);
  const Flow trapped = std::exchange(state_.flow, entry);
  hir::Local* const outer = std::exchange(errors_[state_.frame], failure);
  parts_.scopes.open_scope();
  hir::Stmt* attempt = analysis_.make(StmtKind::kTry, range);
  E value = parts_.statements.block_value(*expr.statement, expected, attempt->body,
                                          StatementChecker::LastValue::kOptional);
  parts_.scopes.close_scope();
  errors_[state_.frame] = outer;
  if (value->type->is(TypeKind::kError)) return value;
  const bool completes = !value->type->is(TypeKind::kNever);
  state_.flow = completes ? Narrowing::merge(state_.flow, trapped) : trapped;
  FunctionInstance& from_trap = analysis_.errors().function("from_trap", range);
  attempt->local = temporary(basic(TypeKind::kI64));
  E caught = make(ExprKind::kCall, from_trap.result, range, {read(attempt->local, range)});
  caught->function = from_trap.function;
  E wrapped = make(ExprKind::kWrap, failure->type, range, {caught});
  attempt->otherwise.push_back(assign(read(failure, range), wrapped, range));
  Body before{let(failure, make(ExprKind::kNull, failure->type, range))};
  E result = result_of_block(value, expected, expr, attempt->body, before);
  if (result->type->is(TypeKind::kError)) return result;
  before.push_back(attempt);
  result->operands.insert(result->operands.begin(), read(failure, range));
  completes_ = completes;
  return in_block(std::move(before), result, range);
}

// The fields of the block's result after the error. `body` gets the code that stores the value, `before` its variable.
hir::Expr* TryBlockChecker::result_of_block(E value, const Type* expected, const ast::Expr& expr, Body& body,
                                            Body& before) {
  const Range range = expr.range;
  const Type* type = value->type;
  if (type->is(TypeKind::kNever)) type = expected != nullptr ? expected : basic(TypeKind::kVoid);
  if (expected != nullptr && !expected->is(TypeKind::kVoid) && !type->is(TypeKind::kVoid)) type = expected;
  if (type->is(TypeKind::kNull)) {
    error(range, "the type of `null` alone is unknown").help("write the type: `let x: T? = ..`");
    return wrong(range);
  }
  if (analysis_.errors().is_result(type)) {
    error(range, "the value of this block is a result itself").help("write `try` before its last expression");
    return wrong(range);
  }
  const Type* result = analysis_.errors().result_of(type, range);
  if (result->is(TypeKind::kError)) return wrong(range);
  if (type->is(TypeKind::kVoid) || value->type->is(TypeKind::kNever)) {
    body.push_back(evaluate(value));
  } else {
    value = parts_.conversions.coerce(value, type, expr.statement->range);
    if (value->type->is(TypeKind::kError)) return wrong(range);
  }
  E made = make(ExprKind::kMakeStruct, result, range);
  if (type->is(TypeKind::kVoid)) return made;
  hir::Local* kept = temporary(type);
  before.push_back(let(kept, make(ExprKind::kZero, type, range)));
  if (!value->type->is(TypeKind::kNever)) body.push_back(assign(read(kept, range), value, range));
  made->operands.push_back(read(kept, range));
  return made;
}

}  // namespace dhpvm::compiler
