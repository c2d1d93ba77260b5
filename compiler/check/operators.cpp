// SPDX-License-Identifier: Apache-2.0
#include "compiler/check/operators.h"

#include <algorithm>
#include <functional>
#include <ranges>
#include <utility>

#include "compiler/check/body_parts.h"
#include "compiler/text/habits.h"

namespace dhpvm::compiler {

using hir::Binary;
using hir::ExprKind;

Binary binary_of(ast::BinaryOp op) {
  switch (op) {
    case ast::BinaryOp::kMul: return Binary::kMul;
    case ast::BinaryOp::kDiv: return Binary::kDiv;
    case ast::BinaryOp::kRem: return Binary::kRem;
    case ast::BinaryOp::kAdd: return Binary::kAdd;
    case ast::BinaryOp::kSub: return Binary::kSub;
    case ast::BinaryOp::kShl: return Binary::kShl;
    case ast::BinaryOp::kShr: return Binary::kShr;
    case ast::BinaryOp::kBitAnd: return Binary::kBitAnd;
    case ast::BinaryOp::kBitXor: return Binary::kBitXor;
    case ast::BinaryOp::kBitOr: return Binary::kBitOr;
    case ast::BinaryOp::kEq: return Binary::kEq;
    case ast::BinaryOp::kNe: return Binary::kNe;
    case ast::BinaryOp::kLt: return Binary::kLt;
    case ast::BinaryOp::kLe: return Binary::kLe;
    case ast::BinaryOp::kGt: return Binary::kGt;
    default: return Binary::kGe;
  }
}

namespace {

bool is_bitwise(Binary op) { return op == Binary::kBitAnd || op == Binary::kBitOr || op == Binary::kBitXor; }

std::string_view spelling(Binary op) {
  switch (op) {
    case Binary::kAdd: return "+";
    case Binary::kSub: return "-";
    case Binary::kMul: return "*";
    case Binary::kDiv: return "/";
    case Binary::kRem: return "%";
    case Binary::kBitAnd: return "&";
    case Binary::kBitOr: return "|";
    case Binary::kBitXor: return "^";
    case Binary::kShl: return "<<";
    case Binary::kShr: return ">>";
    case Binary::kEq: return "==";
    case Binary::kNe: return "!=";
    case Binary::kLt: return "<";
    case Binary::kLe: return "<=";
    case Binary::kGt: return ">";
    case Binary::kGe: return ">=";
    case Binary::kMin: return "min";
    case Binary::kMax: return "max";
  }
  return "?";
}

// The method of a declared type that an operator calls; empty where none does.
std::string_view method_of(Binary op) {
  switch (op) {
    case Binary::kAdd: return "plus";
    case Binary::kSub: return "minus";
    case Binary::kMul: return "times";
    case Binary::kDiv: return "divided_by";
    case Binary::kRem: return "remainder";
    default: return "";
  }
}

constexpr std::string_view kNegated = "negated";
constexpr std::string_view kCompare = "compare";

// Which of two number types to suggest for a conversion: the one that loses less.
const Type* wider(const Type* a, const Type* b) {
  if (a->is_float() != b->is_float()) return a->is_float() ? a : b;
  return a->kind > b->kind ? a : b;
}

// Whether the value is the result of a method `compare`: a number below 0, 0 or above.
bool is_sign(const hir::Expr* value) { return value != nullptr && value->type->is_signed_integer(); }

// Whether a value of the type may contain an array.
bool may_hold_array(const Type* type) {
  switch (type->kind) {
    case TypeKind::kNullable: return may_hold_array(type->element);
    case TypeKind::kStruct:
      return std::ranges::any_of(type->fields, [](const auto& field) { return may_hold_array(field.type); });
    default: return !type->is_number() && !type->is(TypeKind::kBool) && !type->is(TypeKind::kStr);
  }
}

// Whether the value, written as `expr`, is a new array. A call returns an existing array only if an argument contains
// one.
bool is_made(const ast::Expr& expr, const hir::Expr& value) {
  switch (expr.kind) {
    case ast::ExprKind::kArrayLiteral:
    case ast::ExprKind::kNewArray:
    case ast::ExprKind::kSlice: return true;
    case ast::ExprKind::kCall: break;
    default: return false;
  }
  if (expr.operands[0]->kind == ast::ExprKind::kMember && expr.operands[0]->name.text == "copy") return true;
  return (value.kind == ExprKind::kCall || value.kind == ExprKind::kCallNative) &&
         std::ranges::none_of(value.operands,
                              [](const hir::Expr* operand) { return may_hold_array(operand->type); });
}

// Whether this is `a * b as T` where a's type is wider: the product was meant to be converted to T.
bool converts_too_early(const ast::Expr& expr, const Type* left, const Type* right) {
  const ast::Expr& a = *expr.operands[0];
  const ast::Expr& b = *expr.operands[1];
  const bool is_cast = b.kind == ast::ExprKind::kCast && !b.parenthesised && a.kind != ast::ExprKind::kCast;
  return is_cast && left != right && left->is_number() && right->is_number() && wider(left, right) == left;
}

// Adds help for comparing values of these two types; `right` is the type of `b`.
void explain_mismatch(Diagnostic& diagnostic, const Type* left, const Type* right, const ast::Expr& b) {
  if (left->is_number() && right->is_number()) {
    const Type* target = wider(left, right);
    diagnostic.help("convert the {} side: `... as {}`", target == left ? "right" : "left", target->name);
  } else if (left->is(TypeKind::kStr) && b.is_byte) {
    diagnostic.help("a text is written in double quotes: `\"a\"`; a byte of one is `s[i]`");
  } else if ((left->is(TypeKind::kU8) && right->is(TypeKind::kStr)) ||
             (left->is(TypeKind::kStr) && right->is(TypeKind::kU8))) {
    diagnostic.help("a byte of text is written in single quotes: `'a'`");
  }
}

}  // namespace

hir::Expr* OperatorChecker::unary_expr(const ast::Expr& expr, const Type* expected) {
  const ast::Expr& inner = *expr.operands[0];
  if (expr.unary == ast::UnaryOp::kNot) {
    E operand = parts_.conversions.value(inner);
    if (operand->type->is(TypeKind::kError)) return operand;
    if (!operand->type->is(TypeKind::kBool)) {
      Diagnostic& diagnostic = error(expr.range, "'!' negates a bool, not a '{}'", operand->type->name);
      if (operand->type->is_integer()) diagnostic.help("write `~` for the bits, or compare: `== 0`");
      if (operand->type->is(TypeKind::kNullable)) diagnostic.help("compare: `== null`");
      return wrong(expr.range);
    }
    E made = make(ExprKind::kUnary, operand->type, expr.range, {operand});
    made->unary = hir::Unary::kNot;
    return made;
  }
  const bool negate = expr.unary == ast::UnaryOp::kNegate;
  if (negate && inner.kind == ast::ExprKind::kInt) {
    return parts_.literals.int_literal(inner, true, expected);
  }
  E operand = parts_.conversions.value(inner, expected);
  const Type* type = operand->type;
  if (type->is(TypeKind::kError)) return operand;
  if (negate && analysis_.nominal(type) != nullptr) {
    if (E made = parts_.calls.invoke(operand, kNegated, {}, expr.range); made != nullptr) return made;
  }
  if (negate ? !type->is_number() : !type->is_integer()) {
    Diagnostic& diagnostic =
        error(expr.range, "'{}' cannot be applied to '{}'", ast::to_string(expr.unary), type->name);
    if (type->is(TypeKind::kBool)) diagnostic.help("write `!`");
    if (negate) suggest_method(diagnostic, type, kNegated, "", "-a");
    return wrong(expr.range);
  }
  if (negate && operand->kind == ExprKind::kFloat) {
    E literal = make(ExprKind::kFloat, type, expr.range);
    literal->number = -operand->number;
    return literal;
  }
  E made = make(ExprKind::kUnary, type, expr.range, {operand});
  made->unary = negate ? hir::Unary::kNegate : hir::Unary::kComplement;
  return made;
}

hir::Expr* OperatorChecker::binary_expr(const ast::Expr& expr, const Type* expected) {
  switch (expr.binary) {
    case ast::BinaryOp::kAnd:
    case ast::BinaryOp::kOr: return parts_.narrowing.condition(expr).value;
    case ast::BinaryOp::kCoalesce: return parts_.expressions.coalesce(expr, expected);
    case ast::BinaryOp::kEq:
    case ast::BinaryOp::kNe:
    case ast::BinaryOp::kLt:
    case ast::BinaryOp::kLe:
    case ast::BinaryOp::kGt:
    case ast::BinaryOp::kGe: return comparison(binary_of(expr.binary), expr, nullptr);
    case ast::BinaryOp::kShl:
    case ast::BinaryOp::kShr: return shift(binary_of(expr.binary), expr, expected);
    default: break;
  }
  E left = nullptr;
  E right = nullptr;
  if (!operands_of(expr, binary_of(expr.binary), expected, left, right)) return wrong(expr.range);
  if (converts_too_early(expr, left->type, right->type)) {
    error(expr.operator_range, "'{}' cannot combine '{}' and '{}'", ast::to_string(expr.binary),
          left->type->name, right->type->name)
        .help("`as` binds tighter than `{}`; to convert the result, write `(...) as {}`",
              ast::to_string(expr.binary), right->type->name);
    return wrong(expr.range);
  }
  return arithmetic_on(binary_of(expr.binary), left, right, expr.range, expr.operator_range);
}

// Checks both operands, so that a literal takes the type of the other one. False when one is wrong.
bool OperatorChecker::operands_of(const ast::Expr& expr, Binary op, const Type* expected, E& left, E& right) {
  const ast::Expr& a = *expr.operands[0];
  const ast::Expr& b = *expr.operands[1];
  const bool flexible_a = LiteralChecker::is_flexible(a);
  const bool flexible_b = LiteralChecker::is_flexible(b);
  if (expected != nullptr && expected->is(TypeKind::kNullable)) expected = expected->element;
  if (expected != nullptr && !expected->is_number()) expected = nullptr;
  if (flexible_a && flexible_b) {
    const bool any_float = LiteralChecker::has_float_literal(a) || LiteralChecker::has_float_literal(b);
    const Type* hint = expected;
    if (any_float && (hint == nullptr || !hint->is_float())) hint = basic(TypeKind::kF64);
    left = parts_.conversions.value(a, hint);
    right = parts_.conversions.value(b, hint);
  } else if (flexible_a) {
    right = parts_.conversions.value(b, expected);
    left = parts_.conversions.value(a, right->type);
  } else {
    left = parts_.conversions.value(a, expected);
    right = parts_.conversions.value(b, right_type(op, left->type));
  }
  if (left->type->is(TypeKind::kNever) && !right->type->is(TypeKind::kNever))
    left = parts_.conversions.coerce(left, right->type, a.range);
  if (right->type->is(TypeKind::kNever)) right = parts_.conversions.coerce(right, left->type, b.range);
  return !left->type->is(TypeKind::kError) && !right->type->is(TypeKind::kError);
}

// The parameter of the operator's method; null if the type has no such method.
const Type* OperatorChecker::parameter_of(std::string_view method, const Type* type, Range range) {
  if (method.empty() || analysis_.nominal(type) == nullptr) return nullptr;
  const std::vector<const Type*>* parameters = parts_.calls.parameters_of(type, method, range);
  return parameters != nullptr && parameters->size() == 1 ? parameters->front() : nullptr;
}

const Type* OperatorChecker::right_type(Binary op, const Type* left) {
  const Type* const parameter = parameter_of(method_of(op), left, {});
  return parameter != nullptr ? parameter : left;
}

// Calls the method of the left type; null if it has none for the right type. Texts have `compare`.
hir::Expr* OperatorChecker::by_method(std::string_view method, E left, E right, Range range) {
  if (method == kCompare && left->type->is(TypeKind::kStr))
    return make(ExprKind::kStringCompare, basic(TypeKind::kI32), range, {left, right});
  const Type* const parameter = parameter_of(method, left->type, range);
  if (parameter == nullptr || !parts_.conversions.can_coerce(right->type, parameter)) return nullptr;
  return parts_.calls.invoke(left, method, {parts_.conversions.coerce(right, parameter, range)}, range);
}

void OperatorChecker::suggest_method(Diagnostic& diagnostic, const Type* type, std::string_view method,
                                     std::string_view parameter, std::string_view example) {
  const bool is_declared = analysis_.nominal(type) != nullptr && !analysis_.errors().is_result(type) &&
                           !analysis_.tuples().is_tuple(type);
  if (!is_declared) return;
  const NominalSymbol& symbol = *analysis_.nominal(type)->symbol;
  const bool exists = analysis_.find_method(*analysis_.nominal(type), method).symbol != nullptr;
  if (symbol.module->module->is_stdlib && !exists) {
    const std::string_view advice = advice_for_foreign(fmt::format("{} {}", symbol.name(), example));
    if (!advice.empty()) diagnostic.help("{}", advice);
    return;
  }
  if (method.empty()) return;
  if (exists) {
    const Type* const taken = parameter_of(method, type, {});
    diagnostic.help("`{}` calls the method `{}` of '{}', which takes {}", example, method, type->name,
                    taken == nullptr ? "something else" : "a '" + taken->name + "'");
  } else {
    diagnostic.help("give '{}' a method `fn {}({}) -> ...`, which `{}` calls", type->name, method, parameter,
                    example);
  }
}

hir::Expr* OperatorChecker::arithmetic_on(Binary op, E left, E right, Range range, Range operator_range) {
  const Type* a = left->type;
  const Type* b = right->type;
  if (a->is(TypeKind::kError) || b->is(TypeKind::kError)) return wrong(range);
  if (op == Binary::kAdd && a->is(TypeKind::kStr) && b->is(TypeKind::kStr)) {
    std::vector<E> parts;
    for (E side : {left, right}) {
      // `a + b + c` is one concatenation, not two.
      if (side->kind == ExprKind::kStringConcat) {
        parts.insert(parts.end(), side->operands.begin(), side->operands.end());
      } else {
        parts.push_back(side);
      }
    }
    return make(ExprKind::kStringConcat, a, range, std::move(parts));
  }
  if (a == b) {
    const bool good = is_bitwise(op) ? a->is_integer() || a->is(TypeKind::kBool) : a->is_number();
    if (good) return binary(op, left, right, range);
  }
  if (E made = by_method(method_of(op), left, right, range); made != nullptr) return made;
  Diagnostic& diagnostic =
      error(operator_range, "'{}' cannot combine '{}' and '{}'", spelling(op), a->name, b->name);
  parts_.results.explain(diagnostic, a, analysis_.range_of(left));
  parts_.results.explain(diagnostic, b, analysis_.range_of(right));
  if (a->is(TypeKind::kNullable) || b->is(TypeKind::kNullable)) {
    diagnostic.help("test for null first, give another value with `??`, or trap on null with `!`");
  } else if (a->is_number() && b->is_number() && a != b) {
    const Type* target = wider(a, b);
    diagnostic.help("convert the {} side: `... as {}`", target == a ? "right" : "left", target->name);
  } else if (op == Binary::kAdd && (a->is(TypeKind::kStr) || b->is(TypeKind::kStr))) {
    const E other = a->is(TypeKind::kStr) ? right : left;
    const std::string advice = parts_.texts.advice(other->type, analysis_.range_of(other));
    diagnostic.help("{}", advice.empty()
                              ? "write `str(...)` around the other side, or a formatted string: `f\"{x}\"`"
                              : advice);
  } else if (op == Binary::kMul && a->is(TypeKind::kStr) && b->is_integer()) {
    diagnostic.help("write `text.repeat(n)`");
  } else if (op == Binary::kAdd && a == b && a->is(TypeKind::kArray)) {
    diagnostic.help("write `a.concat(b)`, which makes a new array; a `List` grows");
  } else if (op == Binary::kMul && a->is(TypeKind::kArray) && b->is_integer()) {
    diagnostic.help("write `[{}](n, fill: x)`; numbers are multiplied in a loop", a->element->name);
  } else if (op == Binary::kRem && a->is(TypeKind::kStr)) {
    diagnostic.help("{}", advice_for_foreign("str.format"));
  } else if (op == Binary::kBitXor && a->is_number()) {
    diagnostic.help(
        "powers are `math.pow(x, y)`, with `import math;` at the top; bits are those of integers");
  } else if (a == b && a->is_float()) {
    diagnostic.help("bits are those of integers: see `math.bits`");
  } else if (a->is_number() && parameter_of(method_of(op), b, range) == a) {
    diagnostic.help("write the '{}' first", b->name);
  } else {
    suggest_method(diagnostic, a, method_of(op), "other: " + b->name, fmt::format("a {} b", spelling(op)));
  }
  return wrong(range);
}

hir::Expr* OperatorChecker::shift(Binary op, const ast::Expr& expr, const Type* expected) {
  E left = parts_.conversions.value(*expr.operands[0], expected);
  E right = parts_.conversions.value(*expr.operands[1]);
  if (left->type->is(TypeKind::kError) || right->type->is(TypeKind::kError)) return wrong(expr.range);
  if (!left->type->is_integer() || !right->type->is_integer()) {
    error(expr.operator_range, "'{}' shifts an integer by an integer, not '{}' by '{}'", spelling(op),
          left->type->name, right->type->name);
    return wrong(expr.range);
  }
  return binary(op, left, right, expr.range);
}

hir::Expr* OperatorChecker::comparison(Binary op, const ast::Expr& expr, Condition* facts) {
  const bool equality = op == Binary::kEq || op == Binary::kNe;
  const ast::Expr& a = *expr.operands[0];
  const ast::Expr& b = *expr.operands[1];
  if (equality && (a.kind == ast::ExprKind::kNull || b.kind == ast::ExprKind::kNull)) {
    const ast::Expr& tested = a.kind == ast::ExprKind::kNull ? b : a;
    E operand = parts_.conversions.value(tested);
    if (operand->type->is(TypeKind::kError)) return operand;
    if (operand->type->is(TypeKind::kNull)) return boolean(op == Binary::kEq, expr.range);
    if (!operand->type->is(TypeKind::kNullable)) {
      if (operand->kind != ExprKind::kUnwrap && state_.context.bindings.empty()) {
        Diagnostic& diagnostic = error(expr.range, "a '{}' is never null", operand->type->name);
        if (analysis_.errors().is_result(operand->type)) {
          parts_.results.explain(diagnostic, operand->type, tested.range);
        } else {
          diagnostic.help("remove the comparison");
        }
        return wrong(expr.range);
      }
      // Narrowed already, or a type argument without null: only the operand's effects are needed.
      std::vector<hir::Stmt*> effects{evaluate(operand)};
      return in_block(std::move(effects), boolean(op == Binary::kNe, expr.range), expr.range);
    }
    if (facts != nullptr) parts_.narrowing.null_test(tested, *operand, op == Binary::kEq, *facts);
    E test = make(ExprKind::kIsNull, basic(TypeKind::kBool), expr.range, {operand});
    return op == Binary::kEq ? test : negate_bool(test);
  }
  E left = nullptr;
  E right = nullptr;
  if (!operands_of(expr, op, nullptr, left, right)) return wrong(expr.range);
  const Type* type = left->type;
  if (left->type != right->type) {
    if (parts_.conversions.can_coerce(left->type, right->type)) {
      type = right->type;
    } else if (!parts_.conversions.can_coerce(right->type, left->type)) {
      Diagnostic& diagnostic = error(expr.operator_range, "'{}' cannot compare '{}' and '{}'", spelling(op),
                                     left->type->name, right->type->name);
      explain_mismatch(diagnostic, left->type, right->type, b);
      if (analysis_.tuples().is_tuple(left->type) || analysis_.tuples().is_tuple(right->type))
        diagnostic.help("the values of a tuple are `.0`, `.1`; `for (a, b) in xs` takes each apart");
      return wrong(expr.range);
    }
    left = parts_.conversions.coerce(left, type, a.range);
    right = parts_.conversions.coerce(right, type, b.range);
  }
  if (equality && type->is(TypeKind::kArray) && state_.context.bindings.empty() &&
      (is_made(a, *left) || is_made(b, *right))) {
    Diagnostic& diagnostic = analysis_.diagnostics().warning(
        expr.operator_range, "`{}` asks whether both are the same array, and one is made here", spelling(op));
    if (type->rank == 1)
      diagnostic.help("compare the elements: `{}a.equals(b)`", op == Binary::kEq ? "" : "!");
  }
  if (equality) {
    if (!analysis_.enums().compares_inside(type)) return binary(op, left, right, expr.range);
    E same = parts_.derived.equality(left, right, expr.range);
    return op == Binary::kEq ? same : negate_bool(same);
  }
  return order(op, left, right, expr.range, expr.operator_range);
}

// `left < right` and the like, of two values of the same type.
hir::Expr* OperatorChecker::order(Binary op, E left, E right, Range range, Range operator_range) {
  const Type* type = left->type;
  if (analysis_.tuples().is_tuple(type)) return order_of_tuples(op, left, right, range, operator_range);
  if (E sign = by_method(kCompare, left, right, range); is_sign(sign))
    return binary(op, sign, integer(0, sign->type, range), range);
  if (type->is_enum && analysis_.enums().is_plain(type)) {
    return binary(op, parts_.enums.number(left, analysis_.range_of(left)),
                  parts_.enums.number(right, analysis_.range_of(right)), range);
  }
  if (type->is_number()) return binary(op, left, right, range);
  Diagnostic& diagnostic = error(operator_range, "'{}' cannot order '{}'", spelling(op), type->name);
  if (type->is(TypeKind::kNullable)) {
    diagnostic.help("test for null first");
  } else if (analysis_.nominal(type) != nullptr) {
    diagnostic.help("give '{}' a method `fn compare(other: {}) -> i64`, which gives less than 0, 0 or more",
                    type->name, type->name);
  }
  return wrong(range);
}

// Lexicographic: the first values that differ decide, recursively for nested tuples.
hir::Expr* OperatorChecker::order_of_tuples(Binary op, E left, E right, Range range, Range operator_range) {
  Body before;
  left = stable(left, before);
  right = stable(right, before);
  std::vector<std::pair<E, E>> pairs;
  const std::function<void(E, E)> add = [&](E one, E other) {
    if (!analysis_.tuples().is_tuple(one->type)) {
      pairs.emplace_back(one, other);
      return;
    }
    for (std::uint32_t i = 0; i < one->type->fields.size(); ++i)
      add(parts_.members.field(one, i, range), parts_.members.field(other, i, range));
  };
  add(left, right);
  E whole = order(op, pairs.back().first, pairs.back().second, range, operator_range);
  pairs.pop_back();
  const Binary here = op == Binary::kLt || op == Binary::kLe ? Binary::kLt : Binary::kGt;
  for (const auto& [one, other] : std::views::reverse(pairs)) {
    if (whole->type->is(TypeKind::kError)) return whole;
    Body inner;
    E sign = by_method(kCompare, one, other, range);
    E same = nullptr;
    E ordered = nullptr;
    if (is_sign(sign)) {  // also decides whether they are equal
      sign = read(keep(sign, inner), range);
      E zero = integer(0, sign->type, range);
      same = binary(Binary::kEq, sign, zero, range);
      ordered = binary(here, sign, zero, range);
    } else {
      ordered = order(here, one, other, range, operator_range);
      if (ordered->type->is(TypeKind::kError)) return ordered;
      same = parts_.derived.equality(one, other, range);
    }
    whole = make(ExprKind::kConditional, ordered->type, range, {same, whole, ordered});
    if (!inner.empty()) whole = in_block(std::move(inner), whole, range);
  }
  return whole->type->is(TypeKind::kError) ? whole : in_block(std::move(before), whole, range);
}

}  // namespace dhpvm::compiler
