// SPDX-License-Identifier: Apache-2.0
#include "compiler/check/results.h"

#include "compiler/check/body_parts.h"

namespace dhpvm::compiler {

using hir::ExprKind;
using hir::StmtKind;

hir::Expr* ResultChecker::part(E result, std::uint32_t field, Range range) {
  E made = make(ExprKind::kField, result->type->fields[field].type, range, {result});
  made->index = field;
  return made;
}

hir::Expr* ResultChecker::failed(E result, Range range) {
  E error = part(result, ErrorTypes::kErrorField, range);
  return negate_bool(make(ExprKind::kIsNull, basic(TypeKind::kBool), range, {error}));
}

hir::Expr* ResultChecker::success(const Type* result, E value, Range range) {
  E none = make(ExprKind::kNull, result->fields[ErrorTypes::kErrorField].type, range);
  std::vector<E> fields{none};
  if (value != nullptr) fields.push_back(value);
  return make(ExprKind::kMakeStruct, result, range, std::move(fields));
}

// `error` is an `Error`, or an `Error?` known to be non-null.
hir::Expr* ResultChecker::failure(const Type* result, E error, Range range) {
  std::vector<E> fields{error};
  if (!error->type->is(TypeKind::kNullable))
    fields[0] = make(ExprKind::kWrap, types().nullable(error->type), range, {error});
  if (result->fields.size() > ErrorTypes::kValueField)
    fields.push_back(make(ExprKind::kZero, result->fields[ErrorTypes::kValueField].type, range));
  return make(ExprKind::kMakeStruct, result, range, std::move(fields));
}

// Whether the error of `operand` can be passed on from here; reports it if not.
bool ResultChecker::passes_on(E operand, const ast::Expr& expr) {
  if (operand->type->is(TypeKind::kError)) return false;
  if (!analysis_.errors().is_result(operand->type) && expr.operands[0]->kind == ast::ExprKind::kCatch) {
    error(expr.operator_range, "`catch` handles the error, and `try` would pass it on")
        .help("remove the `try`, or the `catch` with its block");
    return false;
  }
  if (!analysis_.errors().is_result(operand->type)) {
    error(expr.operator_range, "`try` passes on the error of what may fail, and a '{}' does not",
          operand->type->name)
        .help("remove the `try`");
    return false;
  }
  if (state_.in_kernel()) {
    error(expr.range, "a parallel loop cannot be left by `try`")
        .help("record the failure in an array or a reduction, and check it after the loop");
    return false;
  }
  if (parts_.try_blocks.error_here() != nullptr) return true;
  const Type* result = state_.frame->result;
  if (state_.frame->function == nullptr) {
    error(expr.operator_range, "`try` stands in functions only");
  } else if (result == nullptr) {
    error(expr.operator_range,
          "the result of this closure is not known yet, and `try` passes an error on as it")
        .help("write its result: `fn(...) -> T! {{ ... }}`");
  } else if (!result->is(TypeKind::kError) && !analysis_.errors().is_result(result)) {
    const std::string text(analysis_.diagnostics().sources().text(expr.operands[0]->range));
    error(expr.operator_range, "`try` passes the error on, and this function gives {}",
          result->is(TypeKind::kVoid) ? "nothing" : "'" + result->name + "'")
        .help("declare its result as `{}`, handle the error: `.. catch err {{ ... }}`, or trap: `{}!`",
              ErrorTypes::name_of(result), text.size() <= 40 ? text : "..");
  } else {
    return !result->is(TypeKind::kError);
  }
  return false;
}

hir::Expr* ResultChecker::try_expr(const ast::Expr& expr, const Type* expected) {
  E operand = parts_.conversions.operand_value(*expr.operands[0], expected);
  if (!passes_on(operand, expr)) return wrong(expr.range);
  const Range range = expr.range;
  Body before;
  E result = stable(operand, before);
  hir::Stmt* test = analysis_.make(StmtKind::kIf, range);
  test->value = failed(result, range);
  pass_on(part(result, ErrorTypes::kErrorField, range), range, test->body);
  before.push_back(test);
  if (!analysis_.errors().value_in(result->type)->is(TypeKind::kVoid))
    return in_block(std::move(before), part(result, ErrorTypes::kValueField, range), range);
  E made = make(ExprKind::kBlock, basic(TypeKind::kVoid), range);
  made->statements = std::move(before);
  return made;
}

// Leaves the enclosing `try` block, or the function, with `error`, an `Error?` known to be non-null.
void ResultChecker::pass_on(E error, Range range, Body& out) {
  if (hir::Local* const of_block = parts_.try_blocks.error_here(); of_block != nullptr) {
    out.push_back(assign(read(of_block, range), error, range));
    out.push_back(analysis_.make(StmtKind::kLeaveTry, range));
    return;
  }
  hir::Stmt* pass = analysis_.make(StmtKind::kReturn, range);
  FunctionInstance& passed = analysis_.errors().function("passed_on", range);
  E noted = make(ExprKind::kCall, passed.result, range,
                 {make(ExprKind::kUnwrap, passed.result, range, {error}), place(range)});
  noted->function = passed.function;
  pass->value = failure(state_.frame->result, noted, range);
  out.push_back(pass);
}

hir::Expr* ResultChecker::catch_expr(const ast::Expr& expr, const Type* expected) {
  const bool drops = expected != nullptr && expected->is(TypeKind::kVoid);
  E operand = parts_.conversions.operand_value(*expr.operands[0], drops ? nullptr : expected);
  const Range range = expr.range;
  const Type* wanted = analysis_.errors().value_in(operand->type);
  if (operand->type->is(TypeKind::kError)) wanted = operand->type;
  if (wanted == nullptr) {
    error(expr.operator_range, "`catch` handles the error of what may fail, and a '{}' does not",
          operand->type->name)
        .help("remove the `catch`");
    wanted = error_type();
  } else if (state_.in_kernel() && !wanted->is(TypeKind::kError)) {
    error(expr.operator_range, "a parallel loop cannot handle errors")
        .help("record the failure in an array or a reduction, and check it after the loop");
    wanted = error_type();
  }
  if (drops && !wanted->is(TypeKind::kError)) wanted = expected;
  Body before;
  if (expr.operands[0]->kind == ast::ExprKind::kTryBlock && operand->kind == ExprKind::kBlock) {
    before = std::move(operand->statements);
    operand = operand->operands[0];
  }
  E result = wanted->is(TypeKind::kError) ? operand : stable(operand, before);
  Flow good = state_.flow;
  if (expr.operands[0]->kind == ast::ExprKind::kTryBlock && !parts_.try_blocks.completes())
    good.reachable = false;
  parts_.scopes.open_scope();
  Body handler;
  if (!expr.name.empty()) {
    const Type* type = analysis_.errors().error(expr.name.range);
    hir::Local* local = parts_.scopes.declare(expr.name, type, VariableKind::kLet)->local;
    if (!wanted->is(TypeKind::kError))
      handler.push_back(let(local, make(ExprKind::kUnwrap, type, expr.name.range,
                                        {part(result, ErrorTypes::kErrorField, expr.name.range)})));
  }
  E value = parts_.statements.block_value(*expr.statement, wanted, handler);
  parts_.scopes.close_scope();
  state_.flow = value->type->is(TypeKind::kNever) ? good : Narrowing::merge(good, state_.flow);
  if (!wanted->is(TypeKind::kVoid)) state_.flow.reachable = true;  // see jump_expr
  if (wanted->is(TypeKind::kError) || value->type->is(TypeKind::kError)) return wrong(range);
  if (wanted->is(TypeKind::kVoid)) {
    handler.push_back(evaluate(value));
    hir::Stmt* test = analysis_.make(StmtKind::kIf, range);
    test->value = failed(result, range);
    test->body = std::move(handler);
    before.push_back(test);
    E made = make(ExprKind::kBlock, wanted, range);
    made->statements = std::move(before);
    return made;
  }
  if (value->type->is(TypeKind::kVoid)) {
    error(expr.statement->range, "this block can end without giving a '{}'", wanted->name)
        .help("end it with a value, without `;`, or leave: `return`, `break`, `continue`, `trap(\"..\")`");
    return wrong(range);
  }
  E present = part(result, ErrorTypes::kValueField, range);
  const Type* type = parts_.conversions.common_type(present, expr.operands[0]->range, value,
                                                    expr.statement->range, expected);
  if (type == nullptr) return wrong(range);
  E block = in_block(std::move(handler), value, expr.statement->range);
  return in_block(std::move(before),
                  make(ExprKind::kConditional, type, range, {failed(result, range), block, present}), range);
}

hir::Expr* ResultChecker::trap_on_error(E operand, Range range) {
  Body before;
  E result = stable(operand, before);
  E failure = part(result, ErrorTypes::kErrorField, range);
  hir::Stmt* test = analysis_.make(StmtKind::kIf, range);
  test->value = failed(result, range);
  if (parts_.try_blocks.error_here() != nullptr) {
    pass_on(failure, range, test->body);  // the block catches the error itself, with its kind and cause
  } else {
    FunctionInstance& text = analysis_.errors().function("text_of", range);
    E message = make(ExprKind::kCall, basic(TypeKind::kStr), range,
                     {make(ExprKind::kUnwrap, text.parameters[0], range, {failure})});
    message->function = text.function;
    hir::Stmt* trap = analysis_.make(StmtKind::kTrap, range);
    trap->value = message;
    test->body.push_back(trap);
  }
  before.push_back(test);
  if (!analysis_.errors().value_in(result->type)->is(TypeKind::kVoid))
    return in_block(std::move(before), part(result, ErrorTypes::kValueField, range), range);
  E made = make(ExprKind::kBlock, basic(TypeKind::kVoid), range);
  made->statements = std::move(before);
  return made;
}

hir::Expr* ResultChecker::native_call(hir::Native& native, const Type* result, std::vector<E> arguments,
                                      Range range) {
  E call = make(ExprKind::kCallNative, native.result, range, std::move(arguments));
  call->native = &native;
  Body before;
  E outcome = stable(call, before);
  // The message and code of a failure follow the value, if there is one.
  const auto fields = static_cast<std::uint32_t>(native.result->fields.size());
  E message = part(outcome, fields - 2, range);
  E failed = negate_bool(make(ExprKind::kIsNull, basic(TypeKind::kBool), range, {message}));
  FunctionInstance& from_native = analysis_.errors().function("from_native", range);
  E error =
      make(ExprKind::kCall, from_native.result, range,
           {make(ExprKind::kUnwrap, basic(TypeKind::kStr), range, {message}),
            part(outcome, fields - 1, range), origin(range), string("  at " + place(range)->text, range)});
  error->function = from_native.function;
  E value = fields > 2 ? part(outcome, 0, range) : nullptr;
  E made = make(ExprKind::kConditional, result, range,
                {failed, failure(result, error, range), success(result, value, range)});
  return in_block(std::move(before), made, range);
}

hir::Expr* ResultChecker::origin(Range range) {
  const SourceManager& sources = analysis_.diagnostics().sources();
  return string(fmt::format("{}:{}", sources.file(range.file).name(), sources.position(range).line), range);
}

void ResultChecker::locate(std::vector<E>& arguments, Range range) {
  E& origin_given = arguments[arguments.size() - 2];
  E& calls_given = arguments.back();
  if (origin_given->kind != ExprKind::kString || !origin_given->text.empty()) return;
  origin_given = origin(range);
  calls_given = string("  at " + place(range)->text, range);
}

hir::Expr* ResultChecker::place(Range range) {
  return string(fmt::format("{} ({})", state_.function_name, origin(range)->text), range);
}

void ResultChecker::explain(Diagnostic& diagnostic, const Type* type, Range range) {
  if (!analysis_.errors().is_result(type)) return;
  constexpr std::size_t kLongest = 40;
  std::string text(analysis_.diagnostics().sources().text(range));
  if (text.size() > kLongest || text.find('\n') != std::string::npos) text = "..";
  diagnostic.help("pass its error on: `try {}`, handle it: `{} catch err {{ .. }}`, or trap: `{}!`", text,
                  text, text);
}

}  // namespace dhpvm::compiler
