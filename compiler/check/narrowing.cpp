// SPDX-License-Identifier: Apache-2.0
#include "compiler/check/narrowing.h"

#include "compiler/check/body_parts.h"
#include "compiler/text/habits.h"

namespace dhpvm::compiler {

using hir::ExprKind;

Condition Narrowing::condition(const ast::Expr& expr) {
  Condition result;
  if (expr.kind == ast::ExprKind::kBinary &&
      (expr.binary == ast::BinaryOp::kAnd || expr.binary == ast::BinaryOp::kOr)) {
    const bool is_and = expr.binary == ast::BinaryOp::kAnd;
    Condition left = condition(*expr.operands[0]);
    const Flow before = state_.flow;
    const FieldNarrowing::Mark mark = parts_.field_narrowing.mark();
    learn(is_and ? left.when_true : left.when_false);
    Condition right = condition(*expr.operands[1]);
    // The right side may not run, and blocks in it may assign.
    std::vector<Fact>& known = is_and ? left.when_true : left.when_false;
    std::erase_if(known, [&](const Fact& fact) {
      return fact.variable != nullptr && narrowed_type(fact.variable) != fact.type;
    });
    parts_.field_narrowing.keep_since(mark, known);
    state_.flow = merge(before, state_.flow);
    // The facts of both sides hold if both conditions do.
    auto& both = is_and ? result.when_true : result.when_false;
    const auto& first = is_and ? left.when_true : left.when_false;
    const auto& second = is_and ? right.when_true : right.when_false;
    both = first;
    both.insert(both.end(), second.begin(), second.end());
    if (left.value->type->is(TypeKind::kError) || right.value->type->is(TypeKind::kError)) {
      result.value = wrong(expr.range);
    } else {
      result.value = make(is_and ? ExprKind::kAnd : ExprKind::kOr, basic(TypeKind::kBool), expr.range,
                          {left.value, right.value});
    }
    return result;
  }
  if (expr.kind == ast::ExprKind::kUnary && expr.unary == ast::UnaryOp::kNot &&
      expr.operands[0]->kind != ast::ExprKind::kName) {
    Condition inner = condition(*expr.operands[0]);
    result.when_true = std::move(inner.when_false);
    result.when_false = std::move(inner.when_true);
    result.value = inner.value->type->is(TypeKind::kError) ? inner.value : negate_bool(inner.value);
    return result;
  }
  if (expr.kind == ast::ExprKind::kBinary && expr.binary == ast::BinaryOp::kEq) {
    result.value = parts_.operators.comparison(hir::Binary::kEq, expr, &result);
  } else if (expr.kind == ast::ExprKind::kBinary && expr.binary == ast::BinaryOp::kNe) {
    result.value = parts_.operators.comparison(hir::Binary::kNe, expr, &result);
  } else if (expr.kind == ast::ExprKind::kIs) {
    result.value = parts_.conversions.is_type(expr, &result);
  } else {
    result.value = parts_.conversions.value(expr);
    const Type* type = result.value->type;
    if (!type->is(TypeKind::kBool) && !type->is(TypeKind::kError)) {
      Diagnostic& diagnostic = error(expr.range, "a condition is a bool, not a '{}'", type->name);
      if (type->is_number()) diagnostic.help("compare: `!= 0`");
      if (type->is(TypeKind::kNullable)) diagnostic.help("compare: `!= null`");
      if (type->is(TypeKind::kStr) || type->is(TypeKind::kArray)) diagnostic.help("compare: `.len != 0`");
      if (Nominal* const nominal = analysis_.nominal(type);
          nominal != nullptr && analysis_.find_method(*nominal, "is_empty").symbol != nullptr)
        diagnostic.help("ask: `!x.is_empty()`");
      result.value = wrong(expr.range);
    }
  }
  return result;
}

void Narrowing::null_test(const ast::Expr& tested, const hir::Expr& value, bool equal, Condition& condition) {
  std::vector<Fact>& facts = equal ? condition.when_false : condition.when_true;
  if (parts_.field_narrowing.add_fact(value, value.type->element, tested.range, facts)) return;
  Variable* variable = narrowable(tested);
  if (variable == nullptr) {
    state_.tested_in_vain.insert(analysis_.diagnostics().sources().text(tested.range));
    return;
  }
  const Type* now = narrowed_type(variable);
  if (now == nullptr) now = variable->type;
  if (!now->is(TypeKind::kNullable)) return;
  facts.push_back({variable, now->element, {}});
}

// Adds help for using a nullable value as if it were not null.
void Narrowing::explain_null(Diagnostic& diagnostic, Range object, std::string_view otherwise) {
  const std::string_view text = analysis_.diagnostics().sources().text(object);
  const bool was_tested = state_.tested_for_a_moment.contains(text);
  if (!was_tested && !state_.tested_in_vain.contains(text)) {
    diagnostic.help("test it first: `if x != null`, or {}", otherwise);
    return;
  }
  const std::size_t dot = text.rfind('.');
  const std::string_view name = dot == std::string_view::npos ? "x" : text.substr(dot + 1);
  if (was_tested) {
    diagnostic.help("a test of `{}` holds until a call, an assignment or a loop may change it", text);
  } else {
    diagnostic.help(
        "a test holds for variables that only this function assigns; what stands in `{}` may change in "
        "between",
        text);
  }
  diagnostic.help("bind it, then test and use that: `let {} = {}; if {} != null {{ ... }}`", name, text,
                  name);
}

// A member of a nullable, which `call` follows. Other languages have such members for tests and for the value itself.
void Narrowing::report_null_member(const Type* type, const ast::Name& name, Range object,
                                   std::string_view call) {
  Diagnostic& diagnostic = error(name.range, "this '{}' may be null", type->name);
  Nominal* const nominal = analysis_.nominal(type->element);
  std::uint32_t index = 0;
  const bool exists =
      nominal != nullptr && (analysis_.find_field(type->element, name.text, index) != nullptr ||
                             analysis_.find_method(*nominal, name.text).symbol != nullptr);
  const std::string_view advice = advice_for_foreign(fmt::format("T?.{}", name.text));
  if (!exists && !advice.empty()) {
    diagnostic.help("{}", advice);
    return;
  }
  explain_null(diagnostic, object,
               fmt::format("write `?.{}{}`, or trap on null: `!.{}{}`", name.text, call, name.text, call));
}

Variable* Narrowing::narrowable(const ast::Expr& expr) {
  if (expr.kind != ast::ExprKind::kName) return nullptr;
  Variable* variable = parts_.scopes.find_variable(expr.name.text);
  if (variable == nullptr) return nullptr;
  if (variable->assignable() &&
      (variable->frame != state_.frame || state_.assignments.in_closure(variable->range))) {
    return nullptr;
  }
  return parts_.scopes.see(variable, expr.range);
}

const Type* Narrowing::narrowed_type(const Variable* variable) const {
  for (; variable != nullptr; variable = variable->source) {
    auto known = state_.flow.narrowed.find(variable);
    if (known != state_.flow.narrowed.end()) return known->second;
    if (variable->assignable()) break;
  }
  return nullptr;
}

hir::Expr* Narrowing::refine(E value, const Type* narrowed, Range range) {
  if (value->type == narrowed) return value;
  if (value->type->is(TypeKind::kNullable) && value->type->element == narrowed) {
    return make(ExprKind::kUnwrap, narrowed, range, {value});
  }
  E made = make(ExprKind::kCast, narrowed, range, {value});
  made->tested = narrowed;
  return made;
}

void Narrowing::learn(const std::vector<Fact>& facts) {
  for (const Fact& fact : facts) {
    if (fact.variable != nullptr) state_.flow.narrowed[fact.variable] = fact.type;
  }
  parts_.field_narrowing.learn(facts);
}

void Narrowing::forget(const Variable* variable) {
  state_.flow.narrowed.erase(variable);
  parts_.field_narrowing.forget_behind(*variable);
}

// Called before a loop: its body may start again with other values.
void Narrowing::forget_assigned_in(Range loop) {
  ++state_.moment;
  std::erase_if(state_.flow.narrowed, [&](const auto& entry) {
    return entry.first->assignable() && state_.assignments.inside(entry.first->range, loop);
  });
}

void Narrowing::assigned(Variable* variable, const Type* value_type) {
  forget(variable);
  if (variable->type->is(TypeKind::kNullable) && value_type == variable->type->element &&
      !(variable->assignable() &&
        (variable->source != nullptr || state_.assignments.in_closure(variable->range)))) {
    state_.flow.narrowed[variable] = value_type;
  }
}

Flow Narrowing::merge(const Flow& a, const Flow& b) {
  if (!a.reachable) return b;
  if (!b.reachable) return a;
  Flow merged = a;
  std::erase_if(merged.narrowed, [&](const auto& entry) {
    auto other = b.narrowed.find(entry.first);
    return other == b.narrowed.end() || other->second != entry.second;
  });
  FieldNarrowing::merge(merged.fields, b.fields);
  merged.unassigned.insert(b.unassigned.begin(), b.unassigned.end());
  return merged;
}

}  // namespace dhpvm::compiler
