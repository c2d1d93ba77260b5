// SPDX-License-Identifier: Apache-2.0
#include "compiler/check/function_body.h"

#include "compiler/check/body_parts.h"

namespace dhpvm::compiler {

using hir::StmtKind;

hir::Expr* FunctionChecker::check_constant(const ast::Expr& expr, const Type* expected,
                                           std::string_view what) {
  state_.constant = what;
  state_.assignments.collect(expr);
  return expected != nullptr ? parts_.conversions.value_as(expr, expected) : parts_.conversions.value(expr);
}

void FunctionChecker::check_function(FunctionInstance& instance) {
  const ast::Function& declaration = *instance.symbol->declaration;
  hir::Function& function = *instance.function;
  state_.function_name = function.name;
  state_.frame->function = &function;
  state_.frame->result = instance.result;
  state_.self = instance.owner;
  if (state_.self != nullptr) {
    analysis_.complete(*state_.self);
    Variable* self =
        parts_.scopes.declare_hidden("this", state_.self->type, VariableKind::kThis, declaration.name.range);
    function.parameters.push_back(self->local);
  }
  for (std::size_t i = 0; i < declaration.parameters.size(); ++i) {
    Variable* parameter = parts_.scopes.declare(declaration.parameters[i].name, instance.parameters[i],
                                                VariableKind::kParameter);
    function.parameters.push_back(parameter->local);
  }
  state_.assignments.collect(declaration);
  if (state_.self != nullptr && instance.symbol == state_.self->symbol->init)
    parts_.init_fields.begin_init(instance);

  if (declaration.expression != nullptr) {
    const ast::Expr& result = *declaration.expression;
    E value = state_.frame->result == nullptr ? parts_.expressions.expr(result)
              : state_.frame->result->is(TypeKind::kVoid)
                  ? parts_.expressions.expr(result)
                  : parts_.conversions.value_as(result, state_.frame->result);
    if (state_.frame->result == nullptr) {
      if (value->type->is(TypeKind::kNull)) {
        error(result.range, "the type of `null` alone is unknown").help("write the result type: `-> T?`");
        value = wrong(result.range);
      }
      instance.result = state_.frame->result =
          value->type->is(TypeKind::kNever) ? basic(TypeKind::kVoid) : value->type;
    } else if (state_.frame->result->is(TypeKind::kVoid) && !value->type->is(TypeKind::kVoid) &&
               !value->type->is(TypeKind::kError) && !value->type->is(TypeKind::kNever)) {
      error(result.range, "this function gives nothing, and the expression gives '{}'", value->type->name);
    }
    if (value->type->is(TypeKind::kVoid) || value->type->is(TypeKind::kNever)) {
      function.body.push_back(evaluate(value));
    } else {
      function.body.push_back(give(value, result.range));
    }
  } else if (declaration.body != nullptr) {
    parts_.scopes.open_scope();
    parts_.statements.statements(declaration.body->body, function.body);
    parts_.scopes.close_scope();
    if (!parts_.statements.end_of_body(state_.frame->result, declaration.name.range, function.body)) {
      error(declaration.name.range, "'{}' can end without giving a '{}'", declaration.name.text,
            state_.frame->result->name)
          .help("end every path with `return`, or with `trap(\"...\")` where it cannot get");
    }
    if (state_.init != nullptr && state_.flow.reachable) parts_.init_fields.end_init(declaration.name.range);
  } else {
    // A body may have been lost to a syntax error, which has been reported.
    if (!analysis_.diagnostics().has_errors()) {
      error(declaration.name.range, "'{}' has no body", declaration.name.text)
          .help("write `extern fn` for a function that the host provides");
    }
    if (instance.result == nullptr) instance.result = error_type();
  }
  function.body.insert(function.body.begin(), state_.first_statements.begin(), state_.first_statements.end());
  function.result = instance.result;
}

hir::Function* FunctionChecker::forwarder(Nominal& type, FunctionInstance& method, Range range) {
  hir::Function& function = analysis_.program().function_arena.emplace_back();
  analysis_.program().functions.push_back(&function);
  function.name = type.type->name + "." + std::string(method.symbol->name());
  function.position = method.function->position;
  function.result = method.result;
  function.parameters.push_back(temporary(type.type));
  E self = read(function.parameters.back(), range);
  hir::Expr* call = make(hir::ExprKind::kCall, method.result, range,
                         {parts_.conversions.coerce(self, method.owner->type, range)});
  call->function = analysis_.use(method);
  for (const Type* parameter : method.parameters) {
    function.parameters.push_back(temporary(parameter));
    call->operands.push_back(read(function.parameters.back(), range));
  }
  function.body.push_back(function.result->is(TypeKind::kVoid) ? evaluate(call) : give(call, range));
  return &function;
}

hir::Stmt* FunctionChecker::give(E value, Range range) {
  hir::Stmt* made = analysis_.make(StmtKind::kReturn, range);
  made->value = value;
  return made;
}

hir::Function* FunctionChecker::entry_of(FunctionInstance& main) {
  const Range range = main.symbol->declaration->name.range;
  hir::Function& entry = analysis_.program().function_arena.emplace_back();
  analysis_.program().functions.push_back(&entry);
  entry.name = main.symbol->name();  // in stack traces
  entry.position = main.function->position;
  entry.result = analysis_.errors().value_in(main.result);
  hir::Expr* call = make(hir::ExprKind::kCall, main.result, range);
  call->function = main.function;
  for (const Type* parameter : main.parameters) {
    entry.parameters.push_back(temporary(parameter));
    call->operands.push_back(read(entry.parameters.back(), range));
  }
  E value = parts_.results.trap_on_error(call, range);
  entry.body.push_back(entry.result->is(TypeKind::kVoid) ? evaluate(value) : give(value, range));
  return &entry;
}

}  // namespace dhpvm::compiler
