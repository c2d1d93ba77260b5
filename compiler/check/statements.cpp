// SPDX-License-Identifier: Apache-2.0
#include "compiler/check/statements.h"

#include <algorithm>

#include "compiler/check/body_parts.h"

namespace dhpvm::compiler {

using hir::ExprKind;
using hir::StmtKind;

void StatementChecker::statements(List list, Body& out) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    // It covers the rest of the block, which moves into it.
    if (list[i]->kind == ast::StmtKind::kUse)
      return use_stmt(*list[i], [&](Body& rest) { statements(list.subspan(i + 1), rest); }, out);
    statement(*list[i], out);
  }
}

hir::Expr* StatementChecker::block_value(const ast::Stmt& block, const Type* expected, Body& out,
                                         LastValue last) {
  return value_of(block.body, block.range, expected, out, last);
}

hir::Expr* StatementChecker::value_of(List list, Range range, const Type* expected, Body& out,
                                      LastValue last) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (list[i]->gives_value) return last_value(*list[i]->value, expected, out, last);
    if (list[i]->kind == ast::StmtKind::kUse) {
      // The value is computed before the resources are closed that it may need.
      E value = nullptr;
      Body whole;
      const auto rest = [&](Body& inner) {
        value = value_of(list.subspan(i + 1), range, expected, inner, last);
        const bool is_value = !value->type->is(TypeKind::kVoid) && !value->type->is(TypeKind::kNever) &&
                              !value->type->is(TypeKind::kError);
        if (!is_value) return;
        hir::Local* result = temporary(value->type);
        out.push_back(let(result, make(ExprKind::kZero, value->type, range)));
        inner.push_back(assign(read(result, range), value, range));
        value = read(result, range);
      };
      use_stmt(*list[i], rest, whole);
      out.insert(out.end(), whole.begin(), whole.end());
      return value;
    }
    statement(*list[i], out);
  }
  return make(ExprKind::kBlock, basic(state_.flow.reachable ? TypeKind::kVoid : TypeKind::kNever), range);
}

hir::Expr* StatementChecker::last_value(const ast::Expr& value, const Type* expected, Body& out,
                                        LastValue last) {
  if (last == LastValue::kOptional) {
    E given = parts_.expressions.expr(value, expected);
    if (given->type->is(TypeKind::kFixedArray)) return parts_.conversions.value(value, expected);
    if (!given->type->is(TypeKind::kVoid)) return given;
    out.push_back(evaluate(given));
    return make(ExprKind::kBlock, given->type, value.range);
  }
  if (expected == nullptr || !expected->is(TypeKind::kVoid)) return parts_.conversions.value(value, expected);
  if (value.kind == ast::ExprKind::kMatch) {
    // Its arms end in commas, but may be statements.
    parts_.matching.match_effect(value, out);
    return make(ExprKind::kBlock, basic(state_.flow.reachable ? TypeKind::kVoid : TypeKind::kNever),
                value.range);
  }
  E effect = parts_.expressions.expr(value);
  if (analysis_.errors().is_result(effect->type)) {
    parts_.results.explain(error(value.range, "this may fail, and its error would be lost"), effect->type,
                           value.range);
    return wrong(value.range);
  }
  if (effect->type->is(TypeKind::kError) || effect->type->is(TypeKind::kNever)) return effect;
  out.push_back(evaluate(effect));
  return make(ExprKind::kBlock, expected, value.range);
}

void StatementChecker::effect(const ast::Expr& value, Body& out) {
  const ast::Stmt* const inner = value.kind == ast::ExprKind::kBlock  ? value.statement
                                 : value.kind == ast::ExprKind::kJump ? value.statement
                                                                      : nullptr;
  if (inner != nullptr) return block(*inner, out);
  E last = last_value(value, basic(TypeKind::kVoid), out, LastValue::kNeeded);
  if (last->type->is(TypeKind::kNever)) {
    state_.flow.reachable = false;
    out.push_back(evaluate(last));
  }
}

void StatementChecker::block(const ast::Stmt& stmt, Body& out) {
  parts_.scopes.open_scope();
  if (stmt.kind == ast::StmtKind::kBlock) {
    statements(stmt.body, out);
  } else {
    statement(stmt, out);
  }
  parts_.scopes.close_scope();
}

void StatementChecker::variable(const ast::Stmt& stmt, Body& out) {
  const VariableKind kind = stmt.kind == ast::StmtKind::kVar ? VariableKind::kVar : VariableKind::kLet;
  const Type* type = stmt.type != nullptr ? analysis_.resolve(stmt.type, state_.context) : nullptr;
  if (stmt.type == nullptr && stmt.value == nullptr) type = error_type();
  if (ClosureChecker::names_itself(stmt)) return parts_.closures.declare_with_itself(stmt, type, kind, out);
  hir::Stmt* made = analysis_.make(StmtKind::kLet, stmt.range);
  if (stmt.value != nullptr) {
    if (type != nullptr && type->is(TypeKind::kFixedArray)) {
      error(stmt.value->range, "a fixed array starts at zero and takes no initial value")
          .help("write `var {}: {};` and assign its elements", stmt.name.text, type->name);
      type = error_type();
    }
    E value = parts_.conversions.value(*stmt.value, type);
    if (type != nullptr) {
      value = parts_.conversions.coerce(value, type, stmt.value->range);
    } else if (value->type->is(TypeKind::kNull)) {
      error(stmt.value->range, "the type of '{}' is not known: it starts as null", stmt.name.text)
          .help("write its type: `{} {}: T? = null;`", kind == VariableKind::kVar ? "var" : "let",
                stmt.name.text);
      type = error_type();
    } else if (value->type->is(TypeKind::kNever)) {
      error(stmt.value->range, "this never gives a value").help("write it as a statement");
      type = error_type();
    } else {
      type = value->type;
    }
    if (!stmt.patterns.empty()) return parts_.tuples.declare(stmt.patterns[0], value, kind, out);
    made->value = value;
  } else if (!stmt.patterns.empty()) {
    error(stmt.range, "a tuple that is taken apart needs its value at once");
    return parts_.patterns.bind_wrong(stmt.patterns[0]);
  } else if (!parts_.arrays.has_zero(type) && !type->is(TypeKind::kFixedArray)) {
    error(stmt.range, "'{}' needs a first value: '{}' has no null", stmt.name.text, type->name)
        .help("write `var {}: {} = ...;`, or make it `{}`", stmt.name.text, type->name,
              types().nullable(type)->name);
  } else if (!type->is(TypeKind::kFixedArray) && !type->is(TypeKind::kError)) {
    made->value = make(ExprKind::kZero, type, stmt.range);
  }
  Variable* declared = parts_.scopes.declare(stmt.name, type, kind);
  made->local = declared->local;
  if (!type->is(TypeKind::kError)) out.push_back(made);
}

template <>
void StatementChecker::check<ast::StmtKind::kIf>(const ast::Stmt& stmt, Body& out) {
  Condition test = parts_.narrowing.condition(*stmt.value);
  const Flow before = state_.flow;
  hir::Stmt* made = analysis_.make(StmtKind::kIf, stmt.range);
  made->value = test.value;
  parts_.narrowing.learn(test.when_true);
  block(*stmt.body[0], made->body);
  const Flow after_true = state_.flow;
  state_.flow = before;
  parts_.narrowing.learn(test.when_false);
  if (stmt.otherwise != nullptr) block(*stmt.otherwise, made->otherwise);
  state_.flow = Narrowing::merge(state_.flow, after_true);
  if (!test.value->type->is(TypeKind::kError)) out.push_back(made);
}

template <>
void StatementChecker::check<ast::StmtKind::kReturn>(const ast::Stmt& stmt, Body& out) {
  if (state_.in_kernel()) {
    error(stmt.range, "a parallel loop cannot be left by `return`")
        .help("write `continue` to end this iteration");
    if (stmt.value != nullptr) parts_.conversions.value(*stmt.value);
    return;
  }
  hir::Stmt* made = analysis_.make(StmtKind::kReturn, stmt.range);
  const Type*& result = state_.frame->result;
  E given = nullptr;
  const Type* expected = result == nullptr || result->is(TypeKind::kVoid) ? nullptr : result;
  if (stmt.value != nullptr) given = parts_.conversions.value_or_nothing(*stmt.value, expected);
  if (given == nullptr) {
    return_nothing(stmt, *made);
  } else if (given->type->is(TypeKind::kVoid) && may_give_nothing()) {
    // `return f();` where neither `f` nor this function has a value.
    out.push_back(evaluate(given));
    return_nothing(stmt, *made);
  } else if (given->type->is(TypeKind::kVoid)) {
    parts_.conversions.report_void(stmt.value->range);
  } else if (result == nullptr) {
    if (given->type->is(TypeKind::kNull)) {
      error(stmt.value->range, "the type of `null` alone is unknown")
          .help("write the closure's result: `fn(...) -> T? {{ ... }}`");
      given = wrong(stmt.value->range);
    }
    if (!state_.frame->gives_result || given->type->is(TypeKind::kError)) {
      result = given->type;
    } else if (analysis_.errors().is_error(given->type)) {
      state_.frame->early_errors.push_back(made);
    } else {
      learn_result(given->type, stmt.range);
      given = parts_.conversions.coerce(given, result, stmt.value->range);
    }
    made->value = given;
  } else if (result->is(TypeKind::kVoid)) {
    if (!given->type->is(TypeKind::kError))
      error(stmt.value->range, "this function gives nothing")
          .help("declare its result: `-> {}`", given->type->name);
  } else {
    made->value = parts_.conversions.coerce(given, result, stmt.value->range);
  }
  state_.flow.reachable = false;
  out.push_back(made);
}

// Whether a function or closure with this result, which may be unknown yet, can end without a value.
bool StatementChecker::may_give_nothing() const {
  const Type* result = state_.frame->result;
  if (result == nullptr || result->is(TypeKind::kVoid) || result->is(TypeKind::kError)) return true;
  const Type* value = analysis_.errors().value_in(result);
  return value != nullptr && value->is(TypeKind::kVoid);
}

// A `return` without a value.
void StatementChecker::return_nothing(const ast::Stmt& stmt, hir::Stmt& made) {
  const Type*& result = state_.frame->result;
  if (result == nullptr && state_.frame->gives_result) learn_result(basic(TypeKind::kVoid), stmt.range);
  if (result == nullptr) result = basic(TypeKind::kVoid);
  if (!may_give_nothing()) {
    error(stmt.range, "a '{}' must be returned here", result->name).help("write `return value;`");
  } else if (!result->is(TypeKind::kVoid) && !result->is(TypeKind::kError)) {
    made.value = parts_.results.success(result, nullptr, stmt.range);
  }
  if (state_.init != nullptr && state_.frame->outer == nullptr && state_.flow.reachable)
    parts_.init_fields.end_init(stmt.range);
}

// Sets the T of a closure that returns `T!`; errors that it has returned before become results.
void StatementChecker::learn_result(const Type* value, Range range) {
  Frame& frame = *state_.frame;
  const ErrorTypes& errors = analysis_.errors();
  frame.result = errors.is_result(value) ? value : analysis_.errors().result_of(value, range);
  for (hir::Stmt* stmt : frame.early_errors)
    stmt->value = parts_.conversions.coerce(stmt->value, frame.result, analysis_.range_of(stmt->value));
  frame.early_errors.clear();
}

// A jump in place of a value: control continues for the other values.
hir::Expr* StatementChecker::jump_expr(const ast::Expr& expr) {
  E made = make(ExprKind::kBlock, basic(TypeKind::kNever), expr.range);
  statement(*expr.statement, made->statements);
  state_.flow.reachable = true;
  return made;
}

// The end of a body: a `void!` function succeeds. False if the body must not end here.
bool StatementChecker::end_of_body(const Type* result, Range range, Body& out) {
  if (!state_.flow.reachable || result->is(TypeKind::kVoid) || result->is(TypeKind::kError)) return true;
  const Type* value = analysis_.errors().value_in(result);
  if (value == nullptr || !value->is(TypeKind::kVoid)) return false;
  hir::Stmt* made = analysis_.make(StmtKind::kReturn, range);
  made->value = parts_.results.success(result, nullptr, range);
  out.push_back(made);
  return true;
}

void StatementChecker::jump(const ast::Stmt& stmt, Body& out) {
  const bool is_break = stmt.kind == ast::StmtKind::kBreak;
  if (state_.frame->loops == 0 && !(state_.in_kernel() && !is_break)) {
    if (state_.in_kernel()) {
      Diagnostic& found =
          error(stmt.range, "a parallel loop cannot be left by `break`: its iterations run in any order");
      const auto is_search = [](const FoldedValue& value) { return value.is_search(); };
      if (std::ranges::any_of(state_.frame->blocks.values, is_search)) {
        found.help("remove it: the search ends by itself when it has a hit");
      } else {
        found.help(
            "write an ordinary `for`, or `continue`; a search ends at its first hit: `parallel for ... "
            "reduce(first: at)` with `at = i;`");
      }
    } else {
      error(stmt.range, "`{}` stands outside of a loop", is_break ? "break" : "continue");
    }
    return;
  }
  unsigned outwards = 0;
  if (!stmt.label.empty() && !find_loop(stmt.label, outwards)) return;
  if (is_break) {
    Flow& left = *state_.loops[state_.loops.size() - 1 - outwards].left;
    left = Narrowing::merge(left, state_.flow);
  }
  state_.flow.reachable = false;
  hir::Stmt* made = analysis_.make(is_break ? StmtKind::kBreak : StmtKind::kContinue, stmt.range);
  made->outwards = outwards;
  out.push_back(made);
}

// `outwards`: the number of loops between here and the loop of this label. False after a diagnostic.
bool StatementChecker::find_loop(const ast::Name& label, unsigned& outwards) {
  for (auto loop = state_.loops.rbegin(); loop != state_.loops.rend(); ++loop, ++outwards) {
    if (loop->label == label.text) return true;
  }
  Diagnostic& diagnostic = error(label.range, "no loop around this is called '{}'", label.text);
  if (state_.in_kernel()) {
    diagnostic.help("a parallel loop cannot be left; its inner loops can");
  } else {
    diagnostic.help("name the loop: `{}: for ...`", label.text);
  }
  return false;
}

// `rest` adds the statements that follow in its block.
void StatementChecker::use_stmt(const ast::Stmt& stmt, const std::function<void(Body&)>& rest, Body& out) {
  E object = parts_.conversions.value(*stmt.value);
  Variable* declared = parts_.scopes.declare(stmt.name, object->type, VariableKind::kLet);
  hir::Stmt* made = analysis_.make(StmtKind::kUse, stmt.range);
  made->local = declared->local;
  made->value = object;
  E target = read(declared->local, stmt.range);
  if (object->type->is(TypeKind::kArray)) {
    made->close = make(ExprKind::kArrayClose, basic(TypeKind::kVoid), stmt.range, {target});
  } else if (!object->type->is(TypeKind::kError)) {
    made->close = parts_.calls.invoke(target, "close", {}, stmt.range);
    if (made->close == nullptr) {
      Diagnostic& diagnostic =
          error(stmt.value->range, "`use` needs an object with a method `close()`, and '{}' has none",
                object->type->name);
      if (analysis_.errors().is_result(object->type)) {
        parts_.results.explain(diagnostic, object->type, stmt.value->range);
      } else {
        diagnostic.help("write `let`");
      }
    }
  }
  rest(made->body);
  ++state_.moment;
  if (made->close != nullptr && !made->close->type->is(TypeKind::kError)) out.push_back(made);
}

void StatementChecker::statement(const ast::Stmt& stmt, Body& out) {
  if (analysis_.nesting >= Analysis::kMaxNesting) {
    error(stmt.range, "this is nested too deeply").help("split it into several functions");
    return;
  }
  ++analysis_.nesting;
  switch (stmt.kind) {
    case ast::StmtKind::kError:
      // It may have been a `return`: the code after it gets no errors about flow.
      state_.flow.reachable = false;
      break;
    case ast::StmtKind::kBlock: {
      hir::Stmt* made = analysis_.make(StmtKind::kBlock, stmt.range);
      block(stmt, made->body);
      out.push_back(made);
      break;
    }
    case ast::StmtKind::kLet:
    case ast::StmtKind::kVar: variable(stmt, out); break;
    case ast::StmtKind::kAssign: parts_.assignment.assign_stmt(stmt, out); break;
    case ast::StmtKind::kUpdate: parts_.assignment.update_stmt(stmt, out); break;
    case ast::StmtKind::kExpr: {
      E value = stmt.value->kind == ast::ExprKind::kCatch
                    ? parts_.results.catch_expr(*stmt.value, basic(TypeKind::kVoid))
                    : parts_.expressions.expr(*stmt.value);
      if (value->type->is(TypeKind::kError)) break;
      if (stmt.value->kind == ast::ExprKind::kTryBlock) {
        error(stmt.value->operator_range, "the error of this `try` block would be lost")
            .help("write `catch err {{ .. }}` behind it");
        break;
      }
      if (analysis_.errors().is_result(value->type)) {
        parts_.results.explain(error(stmt.value->range, "this may fail, and its error would be lost"),
                               value->type, stmt.value->range);
        break;
      }
      if (value->type->is(TypeKind::kNever)) state_.flow.reachable = false;
      if (value->kind == ExprKind::kBlock && value->operands.empty()) {
        // Not an expression with statements, whose variables could change between two operands.
        hir::Stmt* made = analysis_.make(StmtKind::kBlock, stmt.range);
        made->body = std::move(value->statements);
        out.push_back(made);
        break;
      }
      out.push_back(evaluate(value));
      break;
    }
    case ast::StmtKind::kIf: check<ast::StmtKind::kIf>(stmt, out); break;
    case ast::StmtKind::kWhile: parts_.loops.while_stmt(stmt, out); break;
    case ast::StmtKind::kForRange: parts_.loops.for_range(stmt, out); break;
    case ast::StmtKind::kForEach: parts_.loops.for_each(stmt, out); break;
    case ast::StmtKind::kBreak:
    case ast::StmtKind::kContinue: jump(stmt, out); break;
    case ast::StmtKind::kReturn: check<ast::StmtKind::kReturn>(stmt, out); break;
    case ast::StmtKind::kMatch: parts_.matching.match_stmt(stmt, out); break;
    case ast::StmtKind::kUse: use_stmt(stmt, [](Body&) {}, out); break;
    case ast::StmtKind::kParallelFor: parts_.parallel_loops.parallel_for(stmt, out); break;
  }
  --analysis_.nesting;
}

}  // namespace dhpvm::compiler
