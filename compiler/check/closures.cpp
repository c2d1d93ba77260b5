// SPDX-License-Identifier: Apache-2.0
#include "compiler/check/closures.h"

#include <algorithm>
#include <set>

#include "compiler/check/body_parts.h"
#include "compiler/check/lexical_walk.h"

namespace dhpvm::compiler {

using hir::ExprKind;

hir::Expr* ClosureChecker::closure_expr(const ast::Expr& expr, const Type* expected) {
  if (expected != nullptr && expected->is(TypeKind::kNullable)) expected = expected->element;
  if (expected == nullptr || !expected->is(TypeKind::kFunction)) return closure(expr, {});
  if (expected->parameters.size() != expr.closure->parameters.size()) {
    error(expr.range, "this closure takes {} parameter{}, and '{}' is expected",
          expr.closure->parameters.size(), expr.closure->parameters.size() == 1 ? "" : "s", expected->name);
    return wrong(expr.range);
  }
  return closure(expr, {expected->parameters, expected->result, false});
}

hir::Expr* ClosureChecker::closure(const ast::Expr& expr, const Hints& hints) {
  const ast::Function& declaration = *expr.closure;
  analysis_.loops_call_values();

  hir::Function& function = analysis_.program().function_arena.emplace_back();
  function.name = state_.function_name + ".closure#" + std::to_string(++state_.closures);
  function.position = analysis_.position(expr.range);
  Frame& frame = state_.frames.emplace_back();
  frame.kind = Frame::Kind::kClosure;
  frame.outer = state_.frame;
  frame.function = &function;
  if (declaration.result != nullptr) {
    frame.result = analysis_.resolve(declaration.result, state_.context);
  } else {
    frame.result = hints.result;
    frame.gives_result = hints.gives_result && hints.result == nullptr;
  }
  const Flow before = state_.flow;
  std::vector<BodyState::Loop> loops = std::move(state_.loops);
  state_.loops.clear();
  state_.frame = &frame;
  parts_.scopes.open_scope();
  bool good = frame.result == nullptr || !frame.result->is(TypeKind::kError);
  std::vector<const Type*> parameters;
  for (std::size_t i = 0; i < declaration.parameters.size(); ++i) {
    const ast::Parameter& parameter = declaration.parameters[i];
    const Type* type = i < hints.parameters.size() ? hints.parameters[i] : nullptr;
    if (parameter.type != nullptr) type = analysis_.resolve(parameter.type, state_.context);
    if (type == nullptr) {
      const bool named = parameter.patterns.empty();
      error(parameter.range, "the type of {} is not known here",
            named ? fmt::format("'{}'", parameter.name.text) : "this tuple")
          .help("write `{}: T` with the type T", named ? parameter.name.text : "(a, b)");
      type = error_type();
    }
    if (type->is(TypeKind::kFixedArray)) {
      error(parameter.range, "a fixed array cannot be a parameter of a closure")
          .help("write a function, or use an array: `{}: {}`", parameter.name.text,
                types().array(type->element, type->rank)->name);
      type = error_type();
    }
    good = good && !type->is(TypeKind::kError);
    parameters.push_back(type);
    if (parameter.patterns.empty()) {
      function.parameters.push_back(
          parts_.scopes.declare(parameter.name, type, VariableKind::kParameter)->local);
      continue;
    }
    hir::Local* whole = temporary(type);
    function.parameters.push_back(whole);
    if (type->is(TypeKind::kError)) {
      parts_.patterns.bind_wrong(parameter.patterns[0]);
    } else {
      parts_.tuples.declare(parameter.patterns[0], read(whole, parameter.range), VariableKind::kParameter,
                            function.body);
    }
  }
  if (declaration.expression != nullptr) {
    good = closure_result(*declaration.expression, function) && good;
  } else if (declaration.body == nullptr) {
    good = false;  // lost to a syntax error, which has been reported
    frame.result = error_type();
  } else {
    closure_body(expr, function);
  }
  state_.frame = frame.outer;
  state_.loops = std::move(loops);
  state_.flow = before;
  const auto is_this = [](const auto& capture) { return capture.first->kind == VariableKind::kThis; };
  if (state_.in_init_frame() && std::ranges::any_of(frame.captures, is_this))
    parts_.init_fields.require_initialised(expr.range, "a closure is made that uses `this`");
  if (!good || frame.result->is(TypeKind::kError)) return wrong(expr.range);
  function.result = frame.result;
  function.closure_type = types().function(std::move(parameters), frame.result);
  analysis_.program().functions.push_back(&function);
  E made = make(ExprKind::kClosure, function.closure_type, expr.range);
  made->function = &function;
  return made;
}

void ClosureChecker::closure_body(const ast::Expr& expr, hir::Function& function) {
  parts_.scopes.open_scope();
  parts_.statements.statements(expr.closure->body->body, function.body);
  parts_.scopes.close_scope();
  const Type*& result = state_.frame->result;
  if (result == nullptr && !state_.frame->early_errors.empty()) {
    parts_.statements.learn_result(basic(TypeKind::kVoid), expr.range);
  } else if (result == nullptr) {
    result = basic(TypeKind::kVoid);
  }
  if (!parts_.statements.end_of_body(result, expr.range, function.body)) {
    error(expr.range, "this closure can end without giving a '{}'", result->name)
        .help("end every path with `return`");
  }
}

// A method as a value, `object.method`: a closure that captures the object. Null if there is no such method without
// type parameters, and in parallel loops.
hir::Expr* ClosureChecker::of_method(E object, std::string_view method, Range range) {
  const std::vector<const Type*>* known = parts_.calls.parameters_of(object->type, method, range);
  if (known == nullptr || takes_fixed_arrays(*known) || state_.in_kernel()) return nullptr;
  if (std::ranges::any_of(*known, [](const Type* type) { return type->is(TypeKind::kError); }))
    return nullptr;
  const std::vector<const Type*> parameters = *known;
  analysis_.loops_call_values();
  if (state_.in_init_frame()) parts_.init_fields.require_initialised(range, "a method becomes a value");

  Body before;
  const auto is_fixed = [&](const Variable& variable) {
    return variable.local == object->local && !variable.assignable() && !variable.is_own_closure;
  };
  // Parallel loops support closures that are arguments, and not those in blocks.
  const bool is_there = object->kind == ExprKind::kLocal && std::ranges::any_of(state_.variables, is_fixed);
  hir::Local* const kept = is_there ? object->local : keep(object, before);
  hir::Local* const inner = temporary(kept->type);
  hir::Function& function = analysis_.program().function_arena.emplace_back();
  function.name = state_.function_name + ".closure#" + std::to_string(++state_.closures);
  function.position = analysis_.position(range);
  function.captures.push_back({kept, inner});
  Frame& frame = state_.frames.emplace_back();
  frame.kind = Frame::Kind::kClosure;
  frame.outer = state_.frame;
  frame.function = &function;
  state_.frame = &frame;
  std::vector<E> arguments;
  for (const Type* type : parameters) {
    function.parameters.push_back(temporary(type));
    arguments.push_back(read(function.parameters.back(), range));
  }
  E call = parts_.calls.invoke(read(inner, range), method, std::move(arguments), range);
  state_.frame = frame.outer;
  if (call == nullptr || call->type->is(TypeKind::kError)) return wrong(range);
  const bool gives = !call->type->is(TypeKind::kVoid) && !call->type->is(TypeKind::kNever);
  hir::Stmt* body = gives ? analysis_.make(hir::StmtKind::kReturn, range) : evaluate(call);
  body->value = call;
  function.body.push_back(body);
  function.result = gives ? call->type : basic(TypeKind::kVoid);
  function.closure_type = types().function(parameters, function.result);
  analysis_.program().functions.push_back(&function);
  E made = make(ExprKind::kClosure, function.closure_type, range);
  made->function = &function;
  return in_block(std::move(before), made, range);
}

namespace {

// Finds the outer names that a closure refers to, and whether it returns a value.
class ClosureScan final : public LexicalWalk {
 public:
  std::set<std::string_view> names;
  bool returns_value = false;

 private:
  void on_free_name(const ast::Name& name) override { names.insert(name.text); }
  void on_statement(const ast::Stmt& stmt) override {
    const bool is_return = stmt.kind == ast::StmtKind::kReturn && stmt.value != nullptr;
    returns_value = returns_value || (is_return && closures() == 1);
  }
};

}  // namespace

bool ClosureChecker::names_itself(const ast::Stmt& stmt) {
  if (stmt.value == nullptr || stmt.value->kind != ast::ExprKind::kClosure || stmt.name.empty()) return false;
  ClosureScan scan;
  scan.expr(stmt.value);
  return scan.names.contains(stmt.name.text);
}

// The type of a closure whose parameters and result are written; null after a diagnostic.
const Type* ClosureChecker::written_type(const ast::Expr& expr) {
  const ast::Function& declaration = *expr.closure;
  std::vector<const Type*> parameters;
  for (const ast::Parameter& parameter : declaration.parameters) {
    if (parameter.type == nullptr) {
      error(parameter.range, "a closure that calls itself needs the types of its parameters")
          .help("write `{}: T` with the type T", parameter.name.text);
      return nullptr;
    }
    parameters.push_back(analysis_.resolve(parameter.type, state_.context));
    if (parameters.back()->is(TypeKind::kError)) return nullptr;
  }
  ClosureScan scan;
  scan.expr(&expr);
  if (declaration.result == nullptr && (declaration.expression != nullptr || scan.returns_value)) {
    error(expr.range, "a closure that calls itself needs the type of its result")
        .help("write `fn(...) -> T`");
    return nullptr;
  }
  const Type* result = analysis_.resolve(declaration.result, state_.context);
  return result->is(TypeKind::kError) ? nullptr : types().function(std::move(parameters), result);
}

void ClosureChecker::declare_with_itself(const ast::Stmt& stmt, const Type* type, VariableKind kind,
                                         Body& out) {
  const std::string_view name = stmt.name.text;
  const bool is_outside = parts_.scopes.find_variable(name) != nullptr || parts_.names.this_has_field(name) ||
                          parts_.names.this_method(name).symbol != nullptr ||
                          state_.context.module->functions.contains(name);
  if (is_outside) {
    error(stmt.name.range, "'{}' in this closure could be the closure itself, or what has the name outside",
          name)
        .help("choose another name for one of them");
  }
  if (type == nullptr) type = written_type(*stmt.value);
  if (type == nullptr || is_outside) type = error_type();
  Variable* declared = parts_.scopes.declare(stmt.name, type, kind);
  declared->is_own_closure = true;
  E value = parts_.conversions.value(*stmt.value, type);
  if (type->is(TypeKind::kError)) return;
  value = parts_.conversions.coerce(value, type, stmt.value->range);
  out.push_back(let(declared->local, make(ExprKind::kZero, type, stmt.range)));
  out.push_back(assign(read(declared->local, stmt.range), value, stmt.range));
}

// `=> e`. If no result is expected, the value is dropped: `each(fn(x) => set.remove(x))`.
bool ClosureChecker::closure_result(const ast::Expr& result, hir::Function& function) {
  const Type* wanted = state_.frame->result;
  const bool drops = wanted != nullptr && wanted->is(TypeKind::kVoid);
  E value = nullptr;
  if (wanted == nullptr || drops) {
    value = parts_.expressions.expr(result);
    if (value->type->is(TypeKind::kNull) && !drops) {
      error(result.range, "the type of `null` alone is unknown")
          .help("write the result type: `fn(...) -> T? {{ ... }}`");
      value = wrong(result.range);
    }
    const bool is_never = value->type->is(TypeKind::kNever);
    if (!drops && state_.frame->gives_result && !is_never && !value->type->is(TypeKind::kVoid) &&
        !value->type->is(TypeKind::kError) && !analysis_.errors().is_error(value->type)) {
      parts_.statements.learn_result(value->type, result.range);
      value = parts_.conversions.coerce(value, state_.frame->result, result.range);
    } else if (!drops) {
      state_.frame->result = is_never ? basic(TypeKind::kVoid) : value->type;
    }
  } else {
    value = parts_.conversions.value_as(result, wanted);
  }
  if (value->type->is(TypeKind::kError)) return false;
  if (drops || value->type->is(TypeKind::kVoid) || value->type->is(TypeKind::kNever)) {
    function.body.push_back(evaluate(value));
    return true;
  }
  hir::Stmt* stmt = analysis_.make(hir::StmtKind::kReturn, result.range);
  stmt->value = value;
  function.body.push_back(stmt);
  return true;
}

}  // namespace dhpvm::compiler
