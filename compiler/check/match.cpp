// SPDX-License-Identifier: Apache-2.0
#include "compiler/check/match.h"

#include "compiler/check/body_parts.h"
#include "compiler/check/fold.h"

namespace dhpvm::compiler {

using hir::Binary;
using hir::ExprKind;
using hir::StmtKind;

namespace {

// Each arm nests in the one before: a bound for the passes that follow.
constexpr std::size_t kMaxArms = 400;

}  // namespace

MatchChecker::Subject MatchChecker::subject_of(const ast::Expr& expr, Body& out) {
  Subject subject;
  E whole = parts_.conversions.value(expr);
  // The knowledge of narrowing is no reason to forbid a pattern for the rest.
  if (whole->kind == ExprKind::kUnwrap && whole->operands[0]->kind == ExprKind::kLocal)
    whole = whole->operands[0];
  subject.type = whole->type;
  if (whole->type->is(TypeKind::kNull)) {
    error(expr.range, "matching `null` alone makes no sense");
    subject.type = error_type();
  }
  subject.value = stable(whole, out);
  // A variable that an arm assigns is read once all the same: tests come before bodies.
  subject.variable = subject.type->is(TypeKind::kError) ? nullptr : parts_.narrowing.narrowable(expr);
  return subject;
}

// The type that a bare name in a pattern stands for, if it is one.
const Type* MatchChecker::pattern_type(const ast::Pattern& pattern) {
  const ast::Name& name = pattern.type->name;
  const std::string_view qualifier = pattern.type->qualifier.text;
  if (pattern.kind == ast::PatternKind::kName) {
    if (qualifier.empty() && parts_.scopes.find_variable(name.text) != nullptr) return nullptr;
    const ModuleSymbols* module = state_.context.module;
    if (!qualifier.empty()) {
      auto import = module->imports.find(qualifier);
      if (import == module->imports.end()) return nullptr;
      module = import->second;
    }
    if (module->constants.contains(name.text)) return nullptr;
    if (find_binding(state_.context.bindings, name.text) == nullptr &&
        analysis_.find_type(qualifier, name.text, name.range, state_.context, false) == nullptr) {
      return nullptr;
    }
  }
  return analysis_.resolve(pattern.type, state_.context);
}

hir::Expr* MatchChecker::test_value(const ast::Pattern& pattern, E subject) {
  const Type* type = subject->type;
  const auto constant = [&](const ast::Expr& expr) -> E {
    E checked = parts_.conversions.value_as(expr, type);
    if (checked->type->is(TypeKind::kError)) return nullptr;
    const hir::Expr* known = analysis_.evaluate(*checked);
    if (known == nullptr) {
      error(expr.range, "a pattern must be constant").help("use `else` and an `if`");
      return nullptr;
    }
    E copy = make(known->kind, known->type, expr.range);
    copy->integer = known->integer;
    copy->number = known->number;
    copy->text = known->text;
    return copy;
  };
  if (!type->is_primitive() && !type->is(TypeKind::kStr)) {
    error(pattern.range, "a '{}' cannot be matched with a value", type->name)
        .help("match its class: `Name x => ...`");
    return nullptr;
  }
  E low = constant(*pattern.value);
  if (pattern.kind != ast::PatternKind::kRange) {
    return low == nullptr ? nullptr : binary(Binary::kEq, subject, low, pattern.range);
  }
  E high = constant(*pattern.high);
  if (low == nullptr || high == nullptr) return nullptr;
  if (!type->is_number()) {
    error(pattern.range, "a range matches numbers, not '{}'", type->name);
    return nullptr;
  }
  E above = binary(Binary::kGe, subject, low, pattern.range);
  E below = binary(pattern.inclusive ? Binary::kLe : Binary::kLt, subject, high, pattern.range);
  return make(ExprKind::kAnd, basic(TypeKind::kBool), pattern.range, {above, below});
}

MatchChecker::Test MatchChecker::test_pattern(const ast::Pattern& pattern, const Subject& subject) {
  Test test;
  test.condition = wrong(pattern.range);
  if (pattern.kind == ast::PatternKind::kElse) {
    test.condition = nullptr;
    return test;
  }
  const Type* type = subject.type;
  if (pattern.kind == ast::PatternKind::kError || type->is(TypeKind::kError)) return test;
  const bool nullable = type->is(TypeKind::kNullable);
  const auto is_null = [&] {
    return make(ExprKind::kIsNull, basic(TypeKind::kBool), pattern.range, {subject.value});
  };
  if (pattern.kind == ast::PatternKind::kNull) {
    if (!nullable) {
      error(pattern.range, "a '{}' is never null", type->name).help("remove this pattern");
      return test;
    }
    test.condition = is_null();
    return test;
  }
  const Type* tested = nullptr;
  if (pattern.kind == ast::PatternKind::kType || pattern.kind == ast::PatternKind::kName) {
    tested = pattern_type(pattern);
  }
  if (tested == nullptr) {
    E whole = subject.value;
    if (nullable) whole = make(ExprKind::kUnwrap, type->element, pattern.range, {whole});
    E condition = test_value(pattern, whole);
    if (condition == nullptr) return test;
    if (nullable) {
      condition =
          make(ExprKind::kAnd, basic(TypeKind::kBool), pattern.range, {negate_bool(is_null()), condition});
    }
    test.condition = condition;
    return test;
  }
  if (tested->is(TypeKind::kError)) return test;
  const Type* object = nullable ? type->element : type;
  test.binding = &pattern.binding;
  test.bound_type = tested;
  if (object == tested) {
    // `T x` matches everything but null of a `T?`, and everything of a `T`.
    test.condition = nullable ? negate_bool(is_null()) : nullptr;
  } else {
    if (!parts_.conversions.may_be(object, tested) && state_.context.bindings.empty()) {
      error(pattern.range, "a '{}' is never a '{}'", object->name, tested->name);
      return test;
    }
    test.condition = make(ExprKind::kIsType, basic(TypeKind::kBool), pattern.range, {subject.value});
    test.condition->tested = tested;
  }
  if (subject.variable != nullptr && type != tested) test.facts.push_back({subject.variable, tested});
  return test;
}

MatchChecker::Test MatchChecker::test_arm(const ast::Arm& arm, const Subject& subject) {
  Test whole = test_pattern(arm.patterns[0], subject);
  for (std::size_t i = 1; i < arm.patterns.size(); ++i) {
    const ast::Pattern& pattern = arm.patterns[i];
    Test next = test_pattern(pattern, subject);
    // Several alternatives have nothing that is known in common.
    whole.facts.clear();
    for (const ast::Pattern* bound : {&arm.patterns[0], &pattern}) {
      if (bound->kind == ast::PatternKind::kType && !bound->binding.empty()) {
        error(bound->range, "a pattern with alternatives cannot bind '{}'", bound->binding.text)
            .help("write one arm for each type");
        whole.condition = wrong(pattern.range);
      }
    }
    whole.binding = nullptr;
    if (whole.condition == nullptr || next.condition == nullptr) {
      whole.condition = nullptr;
    } else if (whole.condition->type->is(TypeKind::kError) || next.condition->type->is(TypeKind::kError)) {
      whole.condition = wrong(pattern.range);
    } else {
      whole.condition =
          make(ExprKind::kOr, basic(TypeKind::kBool), arm.range, {whole.condition, next.condition});
    }
  }
  return whole;
}

void MatchChecker::bind_pattern(const Test& test, const Subject& subject, Body& out) {
  parts_.narrowing.learn(test.facts);
  if (test.binding == nullptr || test.binding->empty()) return;
  Variable* bound = parts_.scopes.declare(*test.binding, test.bound_type, VariableKind::kLet);
  out.push_back(
      let(bound->local, parts_.narrowing.refine(subject.value, test.bound_type, test.binding->range)));
}

bool MatchChecker::too_many_arms(const std::vector<ast::Arm>& arms, Range range) {
  if (arms.size() <= kMaxArms) return false;
  error(range, "a match has at most {} arms", kMaxArms).help("use a map, or several matches");
  return true;
}

// After an arm that takes null away, the variable is known to be there.
void MatchChecker::exclude_null(const ast::Arm& arm, const Subject& subject) {
  if (subject.variable == nullptr || !subject.type->is(TypeKind::kNullable)) return;
  for (const ast::Pattern& pattern : arm.patterns) {
    if (pattern.kind == ast::PatternKind::kNull)
      parts_.narrowing.learn({{subject.variable, subject.type->element}});
  }
}

void MatchChecker::match_stmt(const ast::Stmt& stmt, Body& out) {
  if (too_many_arms(stmt.arms, stmt.value->range)) return;
  hir::Stmt* whole = analysis_.make(StmtKind::kBlock, stmt.range);
  Subject subject = subject_of(*stmt.value, whole->body);
  Flow after;
  after.reachable = false;
  Body* next = &whole->body;
  bool open = true;  // whether a value may get past the arms so far
  bool good = true;
  for (const ast::Arm& arm : stmt.arms) {
    if (!open) {
      error(arm.range, "this arm is never reached").help("move it before the arm that takes everything");
      break;
    }
    const Flow before = state_.flow;
    Test test = test_arm(arm, subject);
    parts_.scopes.open_scope();
    Body body;
    bind_pattern(test, subject, body);
    parts_.statements.block(*arm.body, body);
    parts_.scopes.close_scope();
    after = Narrowing::merge(after, state_.flow);
    state_.flow = before;
    exclude_null(arm, subject);
    if (test.condition == nullptr) {
      open = false;
      next->insert(next->end(), body.begin(), body.end());
      continue;
    }
    good = good && !test.condition->type->is(TypeKind::kError);
    hir::Stmt* made = analysis_.make(StmtKind::kIf, arm.range);
    made->value = test.condition;
    made->body = std::move(body);
    next->push_back(made);
    next = &made->otherwise;
  }
  state_.flow = open && !covers_all(stmt.arms, subject) ? Narrowing::merge(after, state_.flow) : after;
  if (good) out.push_back(whole);
}

// Without `else`: both values of bool, or null and the type itself.
bool MatchChecker::covers_all(const std::vector<ast::Arm>& arms, const Subject& subject) {
  bool null = !subject.type->is(TypeKind::kNullable);
  const Type* type = null ? subject.type : subject.type->element;
  bool yes = false;
  bool no = false;
  for (const ast::Arm& arm : arms) {
    for (const ast::Pattern& pattern : arm.patterns) {
      null = null || pattern.kind == ast::PatternKind::kNull;
      if (pattern.kind == ast::PatternKind::kValue && pattern.value->kind == ast::ExprKind::kBool) {
        (pattern.value->integer != 0 ? yes : no) = true;
      }
      if (pattern.kind == ast::PatternKind::kType || pattern.kind == ast::PatternKind::kName) {
        if (const Type* tested = pattern_type(pattern); tested == type) yes = no = true;
      }
    }
  }
  return null && yes && no;
}

hir::Expr* MatchChecker::match_expr(const ast::Expr& expr, const Type* expected) {
  const Range range = expr.range;
  if (too_many_arms(expr.arms, expr.operands[0]->range)) return wrong(range);
  Body before;
  Subject subject = subject_of(*expr.operands[0], before);
  struct Checked {
    E condition;
    Body bindings;
    E value;
    Range range;
  };
  std::vector<Checked> arms;
  const Flow start = state_.flow;
  bool open = true;
  bool good = !subject.type->is(TypeKind::kError);
  const Type* type = expected;
  for (const ast::Arm& arm : expr.arms) {
    if (!open) {
      error(arm.range, "this arm is never reached").help("move it before the arm that takes everything");
      break;
    }
    const Flow here = state_.flow;
    Checked checked;
    Test test = test_arm(arm, subject);
    checked.condition = test.condition;
    checked.range = arm.value->range;
    parts_.scopes.open_scope();
    bind_pattern(test, subject, checked.bindings);
    checked.value = parts_.conversions.value(*arm.value, type);
    parts_.scopes.close_scope();
    state_.flow = here;
    exclude_null(arm, subject);
    if (type == nullptr && !LiteralChecker::is_flexible(*arm.value) &&
        !checked.value->type->is(TypeKind::kNull) && !checked.value->type->is(TypeKind::kNever)) {
      type = checked.value->type;
    }
    good = good && !checked.value->type->is(TypeKind::kError) &&
           (test.condition == nullptr || !test.condition->type->is(TypeKind::kError));
    open = test.condition != nullptr;
    arms.push_back(std::move(checked));
  }
  state_.flow = start;
  if (!good) return wrong(range);
  if (open) {
    if (!covers_all(expr.arms, subject)) {
      error(range, "this match does not cover every '{}': it needs an `else`", subject.type->name)
          .help("add `else => value`");
      return wrong(range);
    }
    arms.back().condition = nullptr;
  }
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
