// SPDX-License-Identifier: Apache-2.0
#include "compiler/check/patterns.h"

#include <algorithm>

#include "base/spelling.h"
#include "compiler/check/body_parts.h"

namespace dhpvm::compiler {

using hir::Binary;
using hir::ExprKind;
using Kind = CheckedPattern::Kind;

namespace {

constexpr const char* kHandleResult = "`catch` handles a result: `let x = f() catch err { ... };`";

CheckedPattern pattern_of(Kind kind, const ast::Pattern& pattern, const Type* type) {
  CheckedPattern made;
  made.kind = kind;
  made.range = pattern.range;
  made.type = type;
  return made;
}

// `name`, `Enum.name` or `module.Enum.name`, which may name a case of an enum.
const ast::Expr* path_of(const ast::Pattern& pattern) {
  const bool is_path =
      pattern.kind == ast::PatternKind::kName || pattern.kind == ast::PatternKind::kCase ||
      (pattern.kind == ast::PatternKind::kValue && pattern.value->kind == ast::ExprKind::kMember);
  return is_path ? pattern.value : nullptr;
}

using Variables = std::vector<const CheckedPattern*>;

// Collects the patterns that declare variables. Alternatives declare the same ones.
void add_variables(const CheckedPattern& pattern, Variables& out) {
  if (pattern.binding != nullptr) out.push_back(&pattern);
  if (pattern.kind == Kind::kEither) return add_variables(pattern.parts[0], out);
  for (const CheckedPattern& part : pattern.parts) add_variables(part, out);
}

const CheckedPattern* find_variable(const Variables& variables, std::string_view name) {
  const auto found = std::ranges::find_if(
      variables, [&](const CheckedPattern* variable) { return variable->binding->text == name; });
  return found == variables.end() ? nullptr : *found;
}

}  // namespace

CheckedPattern PatternChecker::check(const ast::Pattern& pattern, const Type* type) {
  CheckedPattern made = pattern_of(Kind::kWrong, pattern, type);
  if (pattern.kind == ast::PatternKind::kElse) {
    made.kind = Kind::kAny;
    return made;
  }
  if (pattern.kind == ast::PatternKind::kError || type->is(TypeKind::kError)) return made;
  if (pattern.present && !type->is(TypeKind::kNullable)) return check_let(pattern, type);
  if (pattern.kind == ast::PatternKind::kEither) {
    std::vector<CheckedPattern> alternatives;
    for (const ast::Pattern& part : pattern.parts) alternatives.push_back(check(part, type));
    return either(std::move(alternatives), type, pattern.range);
  }
  if (pattern.kind == ast::PatternKind::kNull) {
    if (type->is(TypeKind::kNullable)) {
      made.kind = Kind::kNull;
    } else {
      error(pattern.range, "a '{}' is never null", type->name).help("remove this pattern");
    }
    return made;
  }
  if (!type->is(TypeKind::kNullable)) return check_present(pattern, type);
  CheckedPattern present = check_present(pattern, type->element);
  if (present.kind == Kind::kWrong) return made;
  const bool may_be_null = pattern.kind == ast::PatternKind::kName && !pattern.present;
  if (present.kind == Kind::kAny && may_be_null && present.binding != nullptr) {
    // A variable matches null, too.
    present.type = present.bound = type;
    return present;
  }
  made.kind = Kind::kPresent;
  made.parts.push_back(std::move(present));
  return made;
}

CheckedPattern PatternChecker::either(std::vector<CheckedPattern> alternatives, const Type* type,
                                      Range range) {
  CheckedPattern made;
  made.range = range;
  made.type = type;
  if (std::ranges::find(alternatives, Kind::kWrong, &CheckedPattern::kind) != alternatives.end()) return made;
  made.kind = Kind::kEither;
  Variables first;
  add_variables(alternatives[0], first);
  for (const CheckedPattern& alternative : alternatives) {
    Variables here;
    add_variables(alternative, here);
    const auto report_missing = [&](const CheckedPattern& variable, Range where) {
      error(where, "this alternative has no variable '{}'", variable.binding->text)
          .note(variable.binding->range, "another one has it here")
          .help("name it in each alternative, write `_`, or write one arm for each");
      made.kind = Kind::kWrong;
    };
    for (const CheckedPattern* variable : first) {
      const CheckedPattern* same = find_variable(here, variable->binding->text);
      if (same == nullptr) {
        report_missing(*variable, alternative.range);
      } else if (same->bound != variable->bound) {
        error(same->binding->range, "'{}' is a '{}' here, and a '{}' in another alternative",
              same->binding->text, same->bound->name, variable->bound->name)
            .note(variable->binding->range, "the other one is here")
            .help("write one arm for each");
        made.kind = Kind::kWrong;
      }
    }
    for (const CheckedPattern* variable : here) {
      if (find_variable(here, variable->binding->text) != variable) {
        error(variable->binding->range, "'{}' is declared twice in this pattern", variable->binding->text)
            .help("choose another name, and compare the two by `if`");
        made.kind = Kind::kWrong;
      }
      if (find_variable(first, variable->binding->text) == nullptr)
        report_missing(*variable, alternatives[0].range);
    }
  }
  made.parts = std::move(alternatives);
  return made;
}

CheckedPattern PatternChecker::check_present(const ast::Pattern& pattern, const Type* type) {
  switch (pattern.kind) {
    case ast::PatternKind::kName: return check_name(pattern, type);
    case ast::PatternKind::kCase: return check_case(pattern, type);
    case ast::PatternKind::kTuple: return check_tuple(pattern, type);
    case ast::PatternKind::kType: {
      const Type* tested = type_named(pattern);
      if (tested == nullptr || tested->is(TypeKind::kError)) return pattern_of(Kind::kWrong, pattern, type);
      return check_object(pattern, type, tested);
    }
    default: break;
  }
  if (type->is_enum && path_of(pattern) != nullptr) return check_case(pattern, type);
  return check_value(pattern, type);
}

// The pattern of `if let`, which never matches null.
CheckedPattern PatternChecker::check_let(const ast::Pattern& pattern, const Type* type) {
  CheckedPattern made = check_present(pattern, type);
  if (made.kind == Kind::kWrong || !takes_all(made)) return made;
  Diagnostic& diagnostic =
      error(pattern.range, "this `let` takes every '{}': there is nothing to test", type->name);
  if (analysis_.errors().is_result(type)) {
    diagnostic.help("{}", kHandleResult);
  } else {
    diagnostic.help("declare the variable before: `let x = ...;`");
  }
  made.kind = Kind::kWrong;
  return made;
}

bool PatternChecker::takes_all(const CheckedPattern& pattern) {
  return pattern.kind == Kind::kAny ||
         (pattern.kind == Kind::kTuple && std::ranges::all_of(pattern.parts, takes_all));
}

// Whether an unknown name at the outermost level of an arm resembles a case or type.
bool PatternChecker::resembles_other(std::string_view name, const Type* type) {
  if (!type->is_enum) return name[0] >= 'A' && name[0] <= 'Z';
  std::vector<std::string_view> cases;
  for (const CaseInfo& option : analysis_.enums().cases(type)) cases.push_back(option.name());
  return !nearest_name(name, cases).empty();
}

// A name alone: a case, a constant or a type. Otherwise it is a new variable, unless it is a misspelt case or type at
// the outermost level of an arm.
CheckedPattern PatternChecker::check_name(const ast::Pattern& pattern, const Type* type) {
  const ast::Name& name = pattern.type->name;
  const bool is_object = type->is(TypeKind::kClass) || type->is(TypeKind::kInterface);
  const bool may_declare =
      pattern.part && pattern.type->qualifier.empty() &&
      !(pattern.whole && (type->is_enum || is_object) && resembles_other(name.text, type));
  const auto declares = [&] {
    CheckedPattern made = pattern_of(Kind::kAny, pattern, type);
    made.binding = &name;
    made.bound = type;
    return made;
  };
  std::uint32_t index = 0;
  const bool is_case = type->is_enum && analysis_.enums().find_case(type, name.text, index) != nullptr;
  if (pattern.whole && name.text == "default" && !is_case &&
      !state_.context.module->constants.contains(name.text)) {
    error(pattern.range, "the arm for everything else is `else`").help("write `else`");
    return pattern_of(Kind::kAny, pattern, type);
  }
  if (type->is_enum) {
    if (may_declare && !is_case) return declares();
    return check_case(pattern, type);
  }
  if (may_declare && (is_object || !state_.context.module->constants.contains(name.text)) &&
      (!is_object || type_named(pattern) == nullptr)) {
    return declares();
  }
  const Type* tested = type_named(pattern);
  if (tested == nullptr) return check_value(pattern, type);
  if (tested->is(TypeKind::kError)) return pattern_of(Kind::kWrong, pattern, type);
  return check_object(pattern, type, tested);
}

// The type that a bare name in a pattern names, or null.
const Type* PatternChecker::type_named(const ast::Pattern& pattern) {
  const ast::Name& name = pattern.type->name;
  const std::string_view qualifier = pattern.type->qualifier.text;
  if (pattern.kind == ast::PatternKind::kName) {
    if (qualifier.empty() && parts_.scopes.find_variable(name.text) != nullptr) return nullptr;
    const ModuleSymbols* module = state_.context.module;
    if (!qualifier.empty()) {
      module = analysis_.find_module(qualifier, *module);
      if (module == nullptr) return nullptr;
    }
    if (module->constants.contains(name.text)) return nullptr;
    if (find_binding(state_.context.bindings, name.text) == nullptr &&
        analysis_.find_type(qualifier, name.text, name.range, state_.context, false) == nullptr) {
      return nullptr;
    }
  }
  return analysis_.resolve(pattern.type, state_.context);
}

CheckedPattern PatternChecker::check_object(const ast::Pattern& pattern, const Type* type,
                                            const Type* tested) {
  CheckedPattern made = pattern_of(Kind::kAny, pattern, type);
  made.binding = pattern.binding.empty() ? nullptr : &pattern.binding;
  made.bound = tested;
  if (type == tested) return made;
  if (!parts_.conversions.may_be(type, tested) && state_.context.bindings.empty()) {
    Diagnostic& diagnostic = error(pattern.range, "a '{}' is never a '{}'", type->name, tested->name);
    if (type->is_enum) diagnostic.help("its cases are {}", parts_.enums.list_of_cases(type));
    if (analysis_.errors().is_result(type)) diagnostic.help("{}", kHandleResult);
    return pattern_of(Kind::kWrong, pattern, type);
  }
  made.kind = Kind::kObject;
  made.tested = tested;
  return made;
}

CheckedPattern PatternChecker::check_case(const ast::Pattern& pattern, const Type* type) {
  CheckedPattern made = pattern_of(Kind::kWrong, pattern, type);
  const ast::Expr& path = *path_of(pattern);
  if (!type->is_enum) {
    Diagnostic& diagnostic =
        error(pattern.range, "a '{}' is no enum, and has no case '{}'", type->name, path.name.text);
    const bool is_object = type->is(TypeKind::kClass) || type->is(TypeKind::kInterface);
    diagnostic.help("{}", analysis_.errors().is_result(type) ? kHandleResult
                          : is_object       ? "write `Type name => ...` and use the name's members"
                          : pattern.present ? "a name alone takes a value that is not null: `let x = ...`"
                                            : "write a constant, or `else` and an `if`");
    return made;
  }
  if (path.name.empty()) return made;
  const Nominal& nominal = *analysis_.nominal(type);
  if (path.kind == ast::ExprKind::kMember && parts_.enums.named(*path.operands[0]) != nominal.symbol) {
    error(path.range, "this is no case of '{}'", type->name)
        .help("its cases are {}", parts_.enums.list_of_cases(type));
    return made;
  }
  const CaseInfo* option = analysis_.enums().find_case(type, path.name.text, made.index);
  if (option == nullptr) {
    parts_.enums.report_missing_case(type, path.name);
    return made;
  }
  made.kind = Kind::kCase;
  if (pattern.kind == ast::PatternKind::kCase) check_parts(pattern, *option, made);
  return made;
}

CheckedPattern PatternChecker::check_tuple(const ast::Pattern& pattern, const Type* type) {
  CheckedPattern made = pattern_of(Kind::kWrong, pattern, type);
  if (!analysis_.tuples().expect(type, pattern.parts.size(), pattern.range)) return made;
  made.kind = Kind::kTuple;
  for (std::size_t i = 0; i < pattern.parts.size(); ++i) {
    made.parts.push_back(check(pattern.parts[i], type->fields[i].type));
    if (made.parts.back().kind == Kind::kWrong) made.kind = Kind::kWrong;
  }
  return made;
}

// The patterns for the values of a case, by position or by name. Values without a pattern match anything.
void PatternChecker::check_parts(const ast::Pattern& pattern, const CaseInfo& option, CheckedPattern& out) {
  const std::size_t count = option.values.size();
  ast::Pattern anything;
  anything.kind = ast::PatternKind::kElse;
  std::vector<const ast::Pattern*> chosen(count, nullptr);
  std::size_t position = 0;
  bool labels = false;
  for (const ast::Pattern& part : pattern.parts) {
    std::size_t index = position++;
    if (!part.label.empty()) {
      labels = true;
      index = count;
      for (std::size_t i = 0; i < count; ++i) {
        if (option.values[i].name == part.label.text) index = i;
      }
      if (index == count) {
        error(part.label.range, "the case '{}' has no value '{}'", option.name(), part.label.text)
            .note(option.declaration->range, "'{}' is declared here", option.name());
        out.kind = Kind::kWrong;
        continue;
      }
    }
    if (index < count && chosen[index] == nullptr) chosen[index] = &part;
  }
  if (count == 0 || (!labels && pattern.parts.size() != count)) {
    Diagnostic& diagnostic = error(pattern.range, "the case '{}' has {} value{}, and this pattern names {}",
                                   option.name(), count, count == 1 ? "" : "s", pattern.parts.size());
    diagnostic.note(option.declaration->range, "'{}' is declared here", option.name());
    diagnostic.help(
        "{}", count == 0
                  ? fmt::format("write `{}`", option.name())
                  : fmt::format("write `_` for a value that does not matter, or `{}` alone", option.name()));
    out.kind = Kind::kWrong;
  }
  for (std::size_t i = 0; i < count; ++i) {
    const ast::Pattern& part = chosen[i] != nullptr ? *chosen[i] : anything;
    out.parts.push_back(check(part, option.values[i].type));
    if (out.parts.back().kind == Kind::kWrong) out.kind = Kind::kWrong;
  }
}

const hir::Expr* PatternChecker::constant(const ast::Expr& expr, const Type* type) {
  E checked = parts_.conversions.value_as(expr, type);
  if (checked->type->is(TypeKind::kError)) return nullptr;
  const hir::Expr* known = analysis_.constants().evaluate(*checked);
  if (known == nullptr) error(expr.range, "a pattern must be constant").help("use `else` and an `if`");
  return known;
}

CheckedPattern PatternChecker::check_value(const ast::Pattern& pattern, const Type* type) {
  CheckedPattern made = pattern_of(Kind::kWrong, pattern, type);
  if (!type->is_primitive() && !type->is(TypeKind::kStr)) {
    Diagnostic& diagnostic = error(pattern.range, "a '{}' cannot be matched with a value", type->name);
    if (type->is_enum) {
      diagnostic.help("its cases are {}", parts_.enums.list_of_cases(type));
    } else if (type->is(TypeKind::kArray)) {
      diagnostic.help("match its length, `match a.len {{ 2 => ..., else => ... }}`, and index it");
    } else {
      diagnostic.help("match its class: `Name x => ...`");
    }
    return made;
  }
  made.low = constant(*pattern.value, type);
  if (pattern.kind == ast::PatternKind::kRange) made.high = constant(*pattern.high, type);
  if (made.low == nullptr || (pattern.kind == ast::PatternKind::kRange && made.high == nullptr)) return made;
  made.kind = Kind::kConstant;
  if (pattern.kind != ast::PatternKind::kRange) return made;
  made.kind = Kind::kRange;
  made.inclusive = pattern.inclusive;
  if (type->is_number()) return made;
  error(pattern.range, "a range matches numbers, not '{}'", type->name);
  made.kind = Kind::kWrong;
  return made;
}

hir::Expr* PatternChecker::literal(const hir::Expr& constant, Range range) {
  E copy = make(constant.kind, constant.type, range);
  copy->integer = constant.integer;
  copy->number = constant.number;
  copy->text = constant.text;
  return copy;
}

// The value that part `index` of the pattern matches.
hir::Expr* PatternChecker::part_of(const CheckedPattern& pattern, std::size_t index, E value) {
  if (pattern.kind == Kind::kPresent)
    return make(ExprKind::kUnwrap, pattern.type->element, pattern.range, {value});
  if (pattern.kind == Kind::kTuple)
    return parts_.members.field(value, static_cast<std::uint32_t>(index), pattern.range);
  const CaseInfo& option = analysis_.enums().cases(pattern.type)[pattern.index];
  return parts_.members.field(value, option.fields[index], pattern.range);
}

hir::Expr* PatternChecker::test(const CheckedPattern& pattern, E value) {
  const Type* truth = basic(TypeKind::kBool);
  const Range range = pattern.range;
  E condition = nullptr;
  switch (pattern.kind) {
    case Kind::kWrong: return wrong(range);
    case Kind::kAny: return nullptr;
    case Kind::kEither:
      for (const CheckedPattern& part : pattern.parts) {
        E fits = test(part, value);
        if (fits == nullptr) return nullptr;
        condition = condition == nullptr ? fits : make(ExprKind::kOr, truth, range, {condition, fits});
      }
      return condition;
    case Kind::kNull: return make(ExprKind::kIsNull, truth, range, {value});
    case Kind::kPresent:
      // The test for a class is false for null.
      if (pattern.parts[0].kind == Kind::kObject) return test(pattern.parts[0], value);
      condition = negate_bool(make(ExprKind::kIsNull, truth, range, {value}));
      break;
    case Kind::kTuple: break;
    case Kind::kCase: {
      E number = parts_.enums.number(value, range);
      condition = binary(Binary::kEq, number, integer(pattern.index, number->type, range), range);
      break;
    }
    case Kind::kConstant: return binary(Binary::kEq, value, literal(*pattern.low, range), range);
    case Kind::kRange: {
      E above = binary(Binary::kGe, value, literal(*pattern.low, range), range);
      E below =
          binary(pattern.inclusive ? Binary::kLe : Binary::kLt, value, literal(*pattern.high, range), range);
      return make(ExprKind::kAnd, truth, range, {above, below});
    }
    case Kind::kObject:
      condition = make(ExprKind::kIsType, truth, range, {value});
      condition->tested = pattern.tested;
      return condition;
  }
  for (std::size_t i = 0; i < pattern.parts.size(); ++i) {
    E inner = test(pattern.parts[i], part_of(pattern, i, value));
    if (inner == nullptr) continue;
    condition = condition == nullptr ? inner : make(ExprKind::kAnd, truth, range, {condition, inner});
  }
  return condition;
}

// The value of `variable` in `pattern`, or in one of its alternatives, which declares the same name.
hir::Expr* PatternChecker::value_of(const CheckedPattern& variable, const CheckedPattern& pattern, E value) {
  if (pattern.binding != nullptr && pattern.binding->text == variable.binding->text)
    return parts_.narrowing.refine(value, pattern.bound, pattern.binding->range);
  if (pattern.kind == Kind::kEither) {
    E found = nullptr;
    for (auto part = pattern.parts.rbegin(); part != pattern.parts.rend(); ++part) {
      E here = value_of(variable, *part, value);
      if (here == nullptr) return nullptr;
      E fits = found == nullptr ? nullptr : test(*part, value);
      found = fits == nullptr ? here
                              : make(ExprKind::kConditional, here->type, pattern.range, {fits, here, found});
    }
    return found;
  }
  for (std::size_t i = 0; i < pattern.parts.size(); ++i) {
    E found = value_of(variable, pattern.parts[i], part_of(pattern, i, value));
    if (found != nullptr) return found;
  }
  return nullptr;
}

void PatternChecker::bind(const CheckedPattern& pattern, E value, Body& out, VariableKind kind) {
  if (pattern.kind == Kind::kEither) {
    Variables variables;
    add_variables(pattern, variables);
    for (const CheckedPattern* variable : variables) {
      E found = value_of(*variable, pattern, value);
      hir::Local* local = parts_.scopes.declare(*variable->binding, variable->bound, kind)->local;
      out.push_back(let(local, found));
    }
    return;
  }
  if (pattern.binding != nullptr) {
    Variable* bound = parts_.scopes.declare(*pattern.binding, pattern.bound, kind);
    out.push_back(let(bound->local, parts_.narrowing.refine(value, pattern.bound, pattern.binding->range)));
  }
  for (std::size_t i = 0; i < pattern.parts.size(); ++i)
    bind(pattern.parts[i], part_of(pattern, i, value), out, kind);
}

void PatternChecker::bind_wrong(const ast::Pattern& pattern) {
  const bool names = pattern.part && pattern.kind == ast::PatternKind::kName;
  const ast::Name& name = names ? pattern.type->name : pattern.binding;
  if (!name.empty()) parts_.scopes.declare_hidden(name.text, error_type(), VariableKind::kLet, name.range);
  for (const ast::Pattern& part : pattern.parts) bind_wrong(part);
}

const Type* PatternChecker::known_type(const CheckedPattern& pattern) {
  if (pattern.kind == Kind::kObject) return pattern.tested;
  if (pattern.kind != Kind::kPresent) return nullptr;
  const Type* inner = known_type(pattern.parts[0]);
  return inner != nullptr ? inner : pattern.parts[0].type;
}

}  // namespace dhpvm::compiler
