// SPDX-License-Identifier: Apache-2.0
#include "compiler/check/convert.h"

#include "compiler/check/body_parts.h"
#include "compiler/text/habits.h"

namespace dhpvm::compiler {

using hir::ExprKind;

namespace {

const Type* without_null(const Type* type) { return type->is(TypeKind::kNullable) ? type->element : type; }

bool is_object(const Type* type) {
  return (type->is(TypeKind::kClass) && !type->is_enum) || type->is(TypeKind::kInterface);
}

// The source of a short expression, to be quoted with more source after it.
std::string quoted(const Diagnostics& diagnostics, const SourceRange& range) {
  constexpr std::size_t kLongest = 40;
  const std::string_view text = diagnostics.sources().text(range);
  if (text.empty() || text.size() > kLongest || text.find('\n') != std::string_view::npos) return "x";
  for (char c : text) {
    if (std::string_view(" +-*/%<>&|^=?").find(c) != std::string_view::npos)
      return "(" + std::string(text) + ")";
  }
  return std::string(text);
}

}  // namespace

hir::Expr* Conversions::operand_value(const ast::Expr& expr, const Type* expected) {
  E checked = parts_.expressions.expr(expr, expected);
  if (checked->type->is(TypeKind::kVoid)) {
    report_void(expr.range);
    return wrong(expr.range);
  }
  return checked;
}

void Conversions::report_void(Range range) {
  Diagnostic& diagnostic = error(range, "this gives no value");
  if (analysis_.diagnostics().sources().text(range).ends_with(".sort()")) {
    diagnostic.help("call it as a statement, or take a sorted copy: `.sorted()`");
  } else {
    diagnostic.help("call it as a statement, or declare the result of the function: `-> T`");
  }
}

hir::Expr* Conversions::value(const ast::Expr& expr, const Type* expected) {
  return usable(operand_value(expr, expected), expr, expected);
}

hir::Expr* Conversions::value_or_nothing(const ast::Expr& expr, const Type* expected) {
  return usable(parts_.expressions.expr(expr, expected), expr, expected);
}

// The value of an expression: not a fixed array, unless one is expected.
hir::Expr* Conversions::usable(E checked, const ast::Expr& expr, const Type* expected) {
  const bool is_argument = expected != nullptr && expected->is(TypeKind::kFixedArray);
  if (checked->type->is(TypeKind::kFixedArray) && !is_argument) {
    error(
        expr.range,
        "a fixed array can be indexed, iterated over and given to parameters of its type; it is no value by "
        "itself")
        .help("use an array: `{}`", ArrayChecker::array_like(checked->type));
    return wrong(expr.range);
  }
  return checked;
}

hir::Expr* Conversions::value_as(const ast::Expr& expr, const Type* target) {
  return coerce(value(expr, target), target, expr.range);
}

bool Conversions::can_coerce(const Type* from, const Type* to) {
  if (from == to || from->is(TypeKind::kError) || to->is(TypeKind::kError)) return true;
  if (from->is(TypeKind::kNever)) return true;
  if (const Type* value = analysis_.errors().value_in(to); value != nullptr)
    return analysis_.errors().is_error(from) || (!value->is(TypeKind::kVoid) && can_coerce(from, value));
  if (from->is(TypeKind::kNull)) return to->is(TypeKind::kNullable);
  if (to->is(TypeKind::kNullable)) return can_coerce(without_null(from), to->element);
  return is_object(from) && to->is(TypeKind::kInterface) && analysis_.implements(from, to);
}

hir::Expr* Conversions::coerce(E expr, const Type* target, Range range) {
  const Type* from = expr->type;
  if (from == target || from->is(TypeKind::kError) || target->is(TypeKind::kError)) return expr;
  if (from->is(TypeKind::kNever)) {
    E made = make(ExprKind::kBlock, target, range, {make(ExprKind::kZero, target, range)});
    made->statements.push_back(evaluate(expr));
    return made;
  }
  if (can_coerce(from, target)) {
    if (const Type* value = analysis_.errors().value_in(target); value != nullptr) {
      if (analysis_.errors().is_error(from)) return parts_.results.failure(target, expr, range);
      return parts_.results.success(target, coerce(expr, value, range), range);
    }
    if (from->is(TypeKind::kNull)) return make(ExprKind::kNull, target, range);
    if (target->is(TypeKind::kNullable)) {
      if (from->is(TypeKind::kNullable)) return make(ExprKind::kUpcast, target, range, {expr});
      return make(ExprKind::kWrap, target, range, {coerce(expr, target->element, range)});
    }
    return make(ExprKind::kUpcast, target, range, {expr});
  }
  const std::string text = quoted(analysis_.diagnostics(), range);
  if (from->is(TypeKind::kNull)) {
    Diagnostic& diagnostic = error(range, "a '{}' cannot be null", target->name);
    if (target->is(TypeKind::kFixedArray)) {
      diagnostic.help("declare one, `var a: {};`, and give it", target->name);
    } else {
      diagnostic.help("declare it as `{}`", types().nullable(target)->name);
    }
    return wrong(range);
  }
  explain(error(range, "'{}' expected, found '{}'", target->name, from->name), from, target, range);
  return wrong(range);
}

// How to make a `target` of the value in the range.
void Conversions::explain(Diagnostic& diagnostic, const Type* from, const Type* target, Range range) {
  const std::string text = quoted(analysis_.diagnostics(), range);
  parts_.results.explain(diagnostic, from, range);
  const Type* wanted = without_null(target);
  if (from->is_number() && wanted->is_number()) {
    diagnostic.help("write `{} as {}`", text, wanted->name);
  } else if (from->is(TypeKind::kBool) && wanted->is_integer()) {
    diagnostic.help("write `{} as {}`", text, wanted->name);
  } else if (from->is_integer() && wanted->is(TypeKind::kBool)) {
    diagnostic.help("compare: {}`{} != 0`", text.find('-') == std::string::npos ? "" : "`a < b`, or ", text);
  } else if (from->is(TypeKind::kStr) && wanted->is_number()) {
    diagnostic.help("`{}.{}()` reads a number, and gives null where there is none", text,
                    wanted->is_float() ? "parse_float" : "parse_int");
  } else if (from->is(TypeKind::kStr) && wanted->is(TypeKind::kArray) && wanted->element->is(TypeKind::kU8)) {
    diagnostic.help("write `{}.to_bytes()`", text);
  } else if (wanted->is(TypeKind::kStr) && from->is_primitive()) {
    const std::string advice = parts_.texts.advice(from, range);
    diagnostic.help("{}", advice.empty() ? fmt::format("write `str({})`", text) : advice);
  } else if (from->is(TypeKind::kNullable) && can_coerce(from->element, target)) {
    parts_.narrowing.explain_null(
        diagnostic, range,
        fmt::format("give another value: `{} ?? ...`, or trap on null: `{}!`", text, text));
  } else if (analysis_.errors().is_error(from)) {
    diagnostic.help(
        "an error is returned: `return Error(...)`, also behind `x ??`, from a function that gives a `T!`");
  } else if (is_object(from) && wanted->is(TypeKind::kInterface)) {
    diagnostic.help("'{}' does not implement '{}'", from->name, wanted->name);
  } else if (const std::string_view advice =
                 advice_for_foreign(fmt::format("{} as {}", from->name, wanted->name));
             !advice.empty() && analysis_.nominal(from) != nullptr) {
    diagnostic.help("{}", advice);
  } else if (from->is(TypeKind::kArray) && wanted->is(TypeKind::kArray) && from->rank == 1 &&
             from->element->is_number() && wanted->element->is_number()) {
    diagnostic.help("write `{}.map(fn(x) => x as {})`", text, wanted->element->name);
  } else if (takes(wanted, "append_array", types().array(from, 1))) {
    diagnostic.help("`[{}]` makes one of this element; `{}` adds an element to one", text,
                    takes(wanted, "push", from) ? "push" : "add");
  } else if (from->is(TypeKind::kArray) && takes(wanted, "append_array", from)) {
    if (wanted->name.starts_with("List<")) {
      diagnostic.help("write `list.of(...)` around it");
    } else {
      diagnostic.help("make one and add the elements: `let x = {}();`, `x.append_array(...);`", wanted->name);
    }
  } else if (wanted->is(TypeKind::kArray) && wanted->rank == 1 && wanted->element == from) {
    diagnostic.help("write `[{}]`", text);
  } else if (wanted->is(TypeKind::kFunction) && wanted->result->is(TypeKind::kBool) &&
             wanted->parameters == std::vector<const Type*>{from}) {
    diagnostic.help("write `fn(x) => x == {}`", text);
  } else if (wanted->is(TypeKind::kArray) && gives_array(from, wanted)) {
    diagnostic.help("write `{}.to_array()`", text);
  } else if (from->is(TypeKind::kInterface) && wanted->is(TypeKind::kClass)) {
    diagnostic.help("write `{} as {}`, which traps if it is another class", text, wanted->name);
  }
}

// Whether the class has such a method, and it takes only such a value.
bool Conversions::takes(const Type* type, std::string_view method, const Type* value) {
  if (!type->is(TypeKind::kClass)) return false;
  const std::vector<const Type*>* parameters = parts_.calls.parameters_of(type, method, {});
  return parameters != nullptr && parameters->size() == 1 && parameters->front() == value;
}

// Whether the collection is a list whose method `to_array` returns such an array.
bool Conversions::gives_array(const Type* collection, const Type* array) {
  if (!collection->is(TypeKind::kClass)) return false;
  const Nominal* nominal = analysis_.nominal(collection);
  if (nominal == nullptr || nominal->arguments.size() != 1 || nominal->arguments[0] != array->element)
    return false;
  return parts_.calls.parameters_of(collection, "to_array", {}) != nullptr;
}

// Whether an object of static type `from` can be a `to`. Classes are final: their declarations decide.
bool Conversions::may_be(const Type* from, const Type* to) {
  if (!is_object(from) || !is_object(to)) return false;
  if (from->is(TypeKind::kClass)) return analysis_.implements(from, to);
  return to->is(TypeKind::kInterface) || analysis_.implements(to, from);
}

hir::Expr* Conversions::cast(const ast::Expr& expr) {
  const bool or_null = expr.kind == ast::ExprKind::kCastOrNull;
  const Type* target = analysis_.resolve(expr.type, state_.context);
  E operand = value(*expr.operands[0], target->is(TypeKind::kU64) ? target : nullptr);
  const Type* from = operand->type;
  if (from->is(TypeKind::kError) || target->is(TypeKind::kError)) return wrong(expr.range);
  if (from == target && !or_null) return operand;
  if (from->is_enum && target->is_number() && !or_null) {
    if (analysis_.enums().is_plain(from))
      return make(ExprKind::kConvert, target, expr.range, {parts_.enums.number(operand, expr.range)});
    error(expr.range, "a '{}' is no number: it has cases with values", from->name)
        .help("write a method with a `match`");
    return wrong(expr.range);
  }
  if (from->is_primitive() && target->is_primitive() && !or_null) {
    if (target->is_number()) {
      return make(ExprKind::kConvert, target, expr.range, {operand});
    }
    error(expr.range, "a '{}' cannot be cast to '{}'", from->name, target->name)
        .help("compare instead: `{} != 0`", quoted(analysis_.diagnostics(), expr.operands[0]->range));
    return wrong(expr.range);
  }
  if (!is_object(without_null(from)) || !is_object(target)) {
    Diagnostic& diagnostic = error(expr.range, "a '{}' cannot be cast to '{}'", from->name, target->name);
    if (!or_null && can_coerce(from, target)) {
      diagnostic.help("a value becomes a '{}' where one is expected: `let x: {} = ...;`", target->name,
                      target->name);
    } else if (target->is(TypeKind::kNullable) && is_object(target->element) &&
               is_object(without_null(from))) {
      diagnostic.help("write `as? {}`, which gives null for another class", target->element->name);
    } else if (target->is_number() && from->is(TypeKind::kStr)) {
      diagnostic.help("write `try text.{}()`, or `text.{}()`, which gives null for other texts",
                      target->is_float() ? "to_f64" : "to_i64",
                      target->is_float() ? "parse_float" : "parse_int");
    } else if (target->is(TypeKind::kStr)) {
      diagnostic.help("write `str(...)`");
    } else if (target->is_enum && from->is_integer() && analysis_.enums().is_plain(target)) {
      diagnostic.help("index its cases: `{}.cases[i]`", target->name);
    } else if (from->is(TypeKind::kNullable) && from->element->is_primitive()) {
      diagnostic.help("test for null first, or write `!` to trap on null");
    } else if (or_null && target->is_primitive()) {
      diagnostic.help("write `as {}`: a cast of numbers never fails", target->name);
    }
    return wrong(expr.range);
  }
  const Type* object = without_null(from);
  if (analysis_.implements(object, target) && !or_null && from == object) {
    return coerce(operand, target, expr.range);
  }
  const bool possible = may_be(object, target);
  if (!possible && state_.context.bindings.empty()) {
    error(expr.range, "a '{}' is never a '{}'", object->name, target->name)
        .help("only a class that implements an interface can be seen as that interface, and back");
    return wrong(expr.range);
  }
  E made = make(or_null ? ExprKind::kCastOrNull : ExprKind::kCast,
                or_null ? types().nullable(target) : target, expr.range, {operand});
  made->tested = target;
  return made;
}

hir::Expr* Conversions::is_type(const ast::Expr& expr, Condition* facts) {
  E operand = value(*expr.operands[0]);
  if (operand->type->is_enum) return parts_.enums.is_case(operand, *expr.type, expr.range);
  const Type* target = analysis_.resolve(expr.type, state_.context);
  if (operand->type->is(TypeKind::kError) || target->is(TypeKind::kError)) return wrong(expr.range);
  const Type* object = without_null(operand->type);
  if (!is_object(object) || !is_object(target)) {
    Diagnostic& diagnostic =
        error(expr.range, "`is` tests objects for a class or interface, not '{}' for '{}'",
              operand->type->name, target->name);
    if (operand->type->is(TypeKind::kNullable)) {
      diagnostic.help("write `!= null`");
    } else if (!is_object(object)) {
      diagnostic.help("its type is known when compiling");
    }
    return wrong(expr.range);
  }
  const bool possible = may_be(object, target);
  if (!possible && state_.context.bindings.empty()) {
    error(expr.range, "a '{}' is never a '{}'", object->name, target->name);
    return wrong(expr.range);
  }
  E made = make(ExprKind::kIsType, basic(TypeKind::kBool), expr.range, {operand});
  made->tested = target;
  if (facts != nullptr) {
    if (Variable* variable = parts_.narrowing.narrowable(*expr.operands[0]); variable != nullptr) {
      facts->when_true.push_back({variable, target, {}});
    } else {
      parts_.field_narrowing.add_fact(*operand, target, expr.operands[0]->range, facts->when_true);
    }
  }
  return made;
}

const Type* Conversions::common_type(E& left, Range left_range, E& right, Range right_range,
                                     const Type* expected) {
  const Type* a = left->type;
  const Type* b = right->type;
  if (a->is(TypeKind::kError) || b->is(TypeKind::kError)) return nullptr;
  if (a == b) return a;
  const Type* type = nullptr;
  if (can_coerce(a, b)) {
    type = b;
  } else if (can_coerce(b, a)) {
    type = a;
  } else if (a->is(TypeKind::kNull)) {
    type = types().nullable(b);
  } else if (b->is(TypeKind::kNull)) {
    type = types().nullable(a);
  } else if (a->is(TypeKind::kNullable) && can_coerce(a->element, b)) {
    type = types().nullable(b);
  } else if (b->is(TypeKind::kNullable) && can_coerce(b->element, a)) {
    type = types().nullable(a);
  } else if (expected != nullptr && can_coerce(a, expected) && can_coerce(b, expected)) {
    type = expected;
  }
  if (type == nullptr) {
    Diagnostic& diagnostic =
        error(right_range, "this is '{}', and the other branch is '{}'", b->name, a->name)
            .note(left_range, "the other branch is here");
    const Type* value = analysis_.errors().is_error(a) ? b : a;
    if (value != a || analysis_.errors().is_error(b)) {
      diagnostic.help("both are a '{}!' if that is written: `let x: {}! = ...`, `fn(..) -> {}! => ...`",
                      value->name, value->name, value->name);
    } else {
      diagnostic.help(
          "both must have one type; two classes have that of an interface if it is written: `let x: I = "
          "...`");
    }
    return nullptr;
  }
  left = coerce(left, type, left_range);
  right = coerce(right, type, right_range);
  return type;
}

}  // namespace dhpvm::compiler
