// SPDX-License-Identifier: Apache-2.0
#include "compiler/check/match.h"

#include <algorithm>

#include "compiler/check/body_parts.h"

namespace dhpvm::compiler {

using hir::ExprKind;
using hir::StmtKind;

namespace {

// Each arm is nested in the previous one, so this limits the depth for later passes.
constexpr std::size_t kMaxArms = 400;

}  // namespace

MatchChecker::Subject MatchChecker::subject_of(const ast::Expr& expr, const std::vector<ast::Arm>& arms,
                                               Body& out) {
  Subject subject;
  E whole = parts_.conversions.value(expr);
  // Narrowing must not make a pattern for the rest illegal.
  if (whole->kind == ExprKind::kUnwrap && whole->operands[0]->kind == ExprKind::kLocal)
    whole = whole->operands[0];
  subject.type = whole->type;
  if (whole->type->is(TypeKind::kNull)) {
    error(expr.range, "matching `null` alone makes no sense");
    subject.type = error_type();
  }
  // The variable is read once even if an arm assigns it: tests run before bodies, except guards.
  const bool has_guards =
      std::any_of(arms.begin(), arms.end(), [](const ast::Arm& arm) { return arm.guard != nullptr; });
  if (has_guards && whole->kind == ExprKind::kLocal && !subject.type->is(TypeKind::kError)) {
    hir::Local* copy = temporary(whole->type);
    out.push_back(let(copy, whole));
    whole = read(copy, expr.range);
  }
  subject.value = stable(whole, out);
  subject.variable = subject.type->is(TypeKind::kError) ? nullptr : parts_.narrowing.narrowable(expr);
  return subject;
}

bool MatchChecker::too_many_arms(const std::vector<ast::Arm>& arms, Range range) {
  if (arms.size() <= kMaxArms) return false;
  error(range, "a match has at most {} arms", kMaxArms).help("use a map, or several matches");
  return true;
}

// After an arm that matches null, the variable is not null.
void MatchChecker::exclude_null(const ast::Arm& arm, const Subject& subject) {
  if (subject.variable == nullptr || !subject.type->is(TypeKind::kNullable) || arm.guard != nullptr) return;
  for (const ast::Pattern& pattern : arm.patterns) {
    if (pattern.kind == ast::PatternKind::kNull)
      parts_.narrowing.learn({{subject.variable, subject.type->element, {}}});
  }
}

// The alternatives of an arm, and the test whether one of them matches.
MatchChecker::Test MatchChecker::test_arm(const ast::Arm& arm, const Subject& subject, Coverage& coverage) {
  Test whole;
  const bool alone = arm.patterns.size() == 1;
  std::vector<CheckedPattern> alternatives;
  for (const ast::Pattern& pattern : arm.patterns) {
    CheckedPattern checked = parts_.patterns.check(pattern, subject.type);
    if (pattern.whole && checked.binding != nullptr && checked.kind == CheckedPattern::Kind::kAny) {
      // Binding the whole value to the name of an existing variable is probably a mistake.
      const std::string_view name = checked.binding->text;
      const Variable* const hidden = parts_.scopes.find_variable(name);
      if (hidden != nullptr && hidden != subject.variable) {
        error(pattern.range, "a pattern must be constant, and '{}' is a variable", name)
            .note(hidden->range, "'{}' is declared here", name)
            .help("use `else` and an `if`, or choose another name for the value");
        checked.kind = CheckedPattern::Kind::kWrong;
      }
    }
    whole.good = whole.good && checked.kind != CheckedPattern::Kind::kWrong;
    // In generic code two patterns can denote the same values.
    const bool certain =
        coverage.is_certain() && (state_.context.bindings.empty() || coverage.takes_everything());
    if (whole.good && certain && !coverage.is_reached(checked)) {
      const bool takes_rest = checked.kind == CheckedPattern::Kind::kAny;
      error(alone ? arm.range : pattern.range, "this {} is never reached", alone ? "arm" : "pattern")
          .help("{}", coverage.takes_everything() && !takes_rest
                          ? "move it before the arm that takes everything"
                          : "remove it: what stands before takes all that it would");
      whole.good = false;
    }
    if (alone && whole.good) exclude_nulls(checked, checked, coverage);
    alternatives.push_back(checked);
    if (arm.guard == nullptr) coverage.add(std::move(checked));
  }
  if (alone) {
    whole.pattern = std::move(alternatives[0]);
  } else if (whole.good) {
    whole.pattern = parts_.patterns.either(std::move(alternatives), subject.type, arm.range);
    whole.good = whole.pattern.kind != CheckedPattern::Kind::kWrong;
  }
  if (whole.good) whole.condition = parts_.patterns.test(whole.pattern, subject.value);
  const Type* known = whole.good ? PatternChecker::known_type(whole.pattern) : nullptr;
  if (known != nullptr && subject.variable != nullptr) whole.facts.push_back({subject.variable, known, {}});
  if (arm.guard != nullptr) add_guard(arm, subject, whole);
  return whole;
}

// Variables inside `whole` are not null if the previous arms match all values with null there.
void MatchChecker::exclude_nulls(CheckedPattern& whole, CheckedPattern& part, Coverage& coverage) {
  if (part.kind == CheckedPattern::Kind::kEither) return;  // its alternatives agree on the types
  for (CheckedPattern& inner : part.parts) exclude_nulls(whole, inner, coverage);
  if (part.binding == nullptr || part.kind != CheckedPattern::Kind::kAny ||
      !part.bound->is(TypeKind::kNullable))
    return;
  part.kind = CheckedPattern::Kind::kNull;
  if (!coverage.is_reached(whole)) part.bound = part.bound->element;
  part.kind = CheckedPattern::Kind::kAny;
}

// The guard of an arm can use the variables of its pattern. Its code may or may not run before the arms that follow,
// and may assign variables that tests have narrowed.
void MatchChecker::add_guard(const ast::Arm& arm, const Subject& subject, Test& test) {
  const Flow before = state_.flow;
  parts_.scopes.open_scope();
  Body variables;
  bind_pattern(arm, test, subject, variables);
  Condition condition = parts_.narrowing.condition(*arm.guard);
  std::erase_if(test.facts, [&](const Fact& fact) {
    return fact.variable != nullptr && parts_.narrowing.narrowed_type(fact.variable) != fact.type;
  });
  parts_.scopes.close_scope();
  state_.flow = Narrowing::merge(before, state_.flow);
  test.good = test.good && !condition.value->type->is(TypeKind::kError);
  // Facts about the pattern's variables are dropped: the body declares its own.
  test.facts.insert(test.facts.end(), condition.when_true.begin(), condition.when_true.end());
  E value = in_block(std::move(variables), condition.value, arm.guard->range);
  test.condition = test.condition == nullptr ? value
                                             : make(ExprKind::kAnd, basic(TypeKind::kBool), arm.guard->range,
                                                    {test.condition, value});
}

void MatchChecker::bind_pattern(const ast::Arm& arm, const Test& test, const Subject& subject, Body& out) {
  parts_.narrowing.learn(test.facts);
  if (test.good) {
    parts_.patterns.bind(test.pattern, subject.value, out);
  } else {
    for (const ast::Pattern& pattern : arm.patterns) parts_.patterns.bind_wrong(pattern);
  }
}

// Reports missing cases. False if that is an error.
bool MatchChecker::check_coverage(Coverage& coverage, const Subject& subject, Range range) {
  const std::vector<std::string> left_out = coverage.left_out();
  if (coverage.gave_up()) {
    error(range, "the patterns of this match are too many to be compared").help("split it into several");
    return false;
  }
  if (left_out.empty()) return true;
  if (left_out[0] == "_") {
    error(range, "this match does not cover every '{}': it needs an `else`", subject.type->name)
        .help("add `else => value`");
    return false;
  }
  std::string list;
  for (std::size_t i = 0; i < left_out.size(); ++i) {
    const bool last = i != 0 && i + 1 == left_out.size();
    const bool others = last && left_out[i] == "others";
    list += (i == 0 ? "" : last ? " and " : ", ") + (others ? left_out[i] : "`" + left_out[i] + "`");
  }
  error(range, "this match leaves out {}", list)
      .help("add `{} => ...`, or `else => ...` for all that is left", left_out[0]);
  return false;
}

// A match of an enum must cover all cases; a match statement over other values need not.
bool MatchChecker::must_cover(const Type* type) {
  if (type->is(TypeKind::kNullable)) return must_cover(type->element);
  const auto is_covered = [&](const FieldInfo& field) { return must_cover(field.type); };
  return type->is_enum || (analysis_.tuples().is_tuple(type) &&
                           std::any_of(type->fields.begin(), type->fields.end(), is_covered));
}

void MatchChecker::match_stmt(const ast::Stmt& stmt, Body& out) {
  statement(*stmt.value, stmt.arms, stmt.range, out);
}

void MatchChecker::match_effect(const ast::Expr& expr, Body& out) {
  statement(*expr.operands[0], expr.arms, expr.range, out);
}

void MatchChecker::statement(const ast::Expr& value, const std::vector<ast::Arm>& arms, Range range,
                             Body& out) {
  if (too_many_arms(arms, value.range)) return;
  hir::Stmt* whole = analysis_.make(StmtKind::kBlock, range);
  Subject subject = subject_of(value, arms, whole->body);
  Coverage coverage(analysis_.enums(), analysis_.tuples(), subject.type);
  Flow after;
  after.reachable = false;
  Body* next = &whole->body;
  bool good = !subject.type->is(TypeKind::kError);
  for (const ast::Arm& arm : arms) {
    const Test test = test_arm(arm, subject, coverage);
    const Flow before = state_.flow;
    parts_.scopes.open_scope();
    Body body;
    bind_pattern(arm, test, subject, body);
    if (arm.body != nullptr) {
      parts_.statements.block(*arm.body, body);
    } else {
      parts_.statements.effect(*arm.value, body);
    }
    parts_.scopes.close_scope();
    after = Narrowing::merge(after, state_.flow);
    state_.flow = before;
    exclude_null(arm, subject);
    good = good && test.good;
    const bool last = &arm == &arms.back() && arm.guard == nullptr && good && coverage.is_complete();
    if (test.condition == nullptr || last) {
      next->insert(next->end(), body.begin(), body.end());
      continue;
    }
    hir::Stmt* made = analysis_.make(StmtKind::kIf, arm.range);
    made->value = test.condition;
    made->body = std::move(body);
    next->push_back(made);
    next = &made->otherwise;
  }
  if (good && must_cover(subject.type)) good = check_coverage(coverage, subject, value.range);
  const bool complete = must_cover(subject.type) || coverage.is_complete();
  state_.flow = complete ? after : Narrowing::merge(after, state_.flow);
  if (good) out.push_back(whole);
}

hir::Expr* MatchChecker::match_expr(const ast::Expr& expr, const Type* expected) {
  const Range range = expr.range;
  if (too_many_arms(expr.arms, expr.operands[0]->range)) return wrong(range);
  Body before;
  Subject subject = subject_of(*expr.operands[0], expr.arms, before);
  Coverage coverage(analysis_.enums(), analysis_.tuples(), subject.type);
  struct Checked {
    E condition;
    Body bindings;
    E value;
    Range range;
  };
  std::vector<Checked> arms;
  const Flow start = state_.flow;
  Flow after = start;
  after.reachable = false;
  bool good = !subject.type->is(TypeKind::kError);
  const Type* type = expected;
  for (const ast::Arm& arm : expr.arms) {
    Checked checked;
    const Test test = test_arm(arm, subject, coverage);
    const Flow here = state_.flow;
    checked.condition = test.condition;
    checked.range = arm.value->range;
    parts_.scopes.open_scope();
    bind_pattern(arm, test, subject, checked.bindings);
    checked.value = parts_.conversions.value(*arm.value, type);
    parts_.scopes.close_scope();
    if (!checked.value->type->is(TypeKind::kNever)) after = Narrowing::merge(after, state_.flow);
    state_.flow = here;
    exclude_null(arm, subject);
    if (type == nullptr && !LiteralChecker::is_flexible(*arm.value) &&
        !checked.value->type->is(TypeKind::kNull) && !checked.value->type->is(TypeKind::kNever)) {
      type = checked.value->type;
    }
    good = good && !checked.value->type->is(TypeKind::kError) && test.good;
    arms.push_back(std::move(checked));
  }
  state_.flow = after.reachable ? after : start;
  if (!good || !check_coverage(coverage, subject, must_cover(subject.type) ? expr.operands[0]->range : range))
    return wrong(range);
  arms.back().condition = nullptr;
  // All arms agree on one type, as the branches of `if` do.
  for (std::size_t i = 1; i < arms.size(); ++i) {
    const Type* common =
        parts_.conversions.common_type(arms[0].value, arms[0].range, arms[i].value, arms[i].range, expected);
    if (common == nullptr) return wrong(range);
  }
  for (Checked& arm : arms) arm.value = parts_.conversions.coerce(arm.value, arms[0].value->type, arm.range);
  E result = nullptr;
  for (auto arm = arms.rbegin(); arm != arms.rend(); ++arm) {
    E value = in_block(std::move(arm->bindings), arm->value, arm->range);
    result = arm->condition == nullptr
                 ? value
                 : make(ExprKind::kConditional, value->type, range, {arm->condition, value, result});
  }
  return in_block(std::move(before), result, range);
}

}  // namespace dhpvm::compiler
