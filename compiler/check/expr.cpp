// SPDX-License-Identifier: Apache-2.0
// Expressions: literals, conditionals, arrays and indexing; everything else is dispatched from here.
#include "compiler/check/body.h"
#include "compiler/check/fold.h"

namespace dhpvm::compiler {

using hir::ExprKind;

hir::Expr* BodyChecker::expr(const ast::Expr& expr, const Type* expected) {
  if (analysis_.nesting >= Analysis::kMaxNesting) {
    error(expr.range, "this is nested too deeply").help("split it into several functions");
    return wrong(expr.range);
  }
  ++analysis_.nesting;
  if (expected != nullptr && expected->is(TypeKind::kError)) expected = nullptr;
  E checked = dispatch(expr, expected);
  --analysis_.nesting;
  return checked;
}

hir::Expr* BodyChecker::dispatch(const ast::Expr& expr, const Type* expected) {
  switch (expr.kind) {
    case ast::ExprKind::kError: return wrong(expr.range);
    case ast::ExprKind::kInt: return int_literal(expr, false, expected);
    case ast::ExprKind::kFloat: return float_literal(expr, expected);
    case ast::ExprKind::kBool: return boolean(expr.integer != 0, expr.range);
    case ast::ExprKind::kNull: return make(ExprKind::kNull, basic(TypeKind::kNull), expr.range);
    case ast::ExprKind::kString: return string(expr.text, expr.range);
    case ast::ExprKind::kFormat: return format_expr(expr);
    case ast::ExprKind::kName: return name_expr(expr, expected);
    case ast::ExprKind::kThis:
      if (in_init_frame()) require_initialised(expr.range, "`this` is used");
      return this_value(expr.range);
    case ast::ExprKind::kMember: return member(expr, expected);
    case ast::ExprKind::kIndex: return index_expr(expr);
    case ast::ExprKind::kCall: return call_expr(expr, expected);
    case ast::ExprKind::kNewArray: return new_array(expr);
    case ast::ExprKind::kArrayLiteral: return array_literal(expr, expected);
    case ast::ExprKind::kUnary: return unary_expr(expr, expected);
    case ast::ExprKind::kBinary: return binary_expr(expr, expected);
    case ast::ExprKind::kCast:
    case ast::ExprKind::kCastOrNull: return cast(expr);
    case ast::ExprKind::kIs: return is_type(expr, nullptr);
    case ast::ExprKind::kUnwrap: return unwrap_expr(expr);
    case ast::ExprKind::kClosure: return closure_expr(expr, expected);
    case ast::ExprKind::kIf: return if_expr(expr, expected);
    case ast::ExprKind::kMatch: return match_expr(expr, expected);
  }
  return wrong(expr.range);
}

const Type* BodyChecker::suffix_type(std::string_view suffix) {
  for (TypeKind kind : {TypeKind::kI8, TypeKind::kU8, TypeKind::kI16, TypeKind::kU16, TypeKind::kI32,
                        TypeKind::kU32, TypeKind::kI64, TypeKind::kU64, TypeKind::kF32, TypeKind::kF64}) {
    if (basic(kind)->name == suffix) return basic(kind);
  }
  return nullptr;
}

hir::Expr* BodyChecker::int_literal(const ast::Expr& expr, bool negative, const Type* expected) {
  const Type* type = suffix_type(expr.suffix);
  if (type == nullptr && expected != nullptr) {
    type = expected->is(TypeKind::kNullable) ? expected->element : expected;
    if (!type->is_number()) type = nullptr;
  }
  if (type == nullptr) type = basic(TypeKind::kI64);
  if (type->is_float()) {
    E made = make(ExprKind::kFloat, type, expr.range);
    made->number = static_cast<double>(expr.integer);
    if (type->is(TypeKind::kF32)) made->number = static_cast<float>(expr.integer);
    if (negative) made->number = -made->number;
    return made;
  }
  if (!fits(expr.integer, negative, type)) {
    Diagnostic& diagnostic =
        error(expr.range, "{}{} does not fit in '{}'", negative ? "-" : "", expr.integer, type->name);
    if (type->is_unsigned_integer() && negative) {
      diagnostic.help("'{}' has no negative values", type->name);
    } else if (type->is(TypeKind::kI64) && !negative) {
      diagnostic.help("write `{}u64`, or use a larger type", expr.integer);
    } else {
      diagnostic.help("use a larger type");
    }
    return wrong(expr.range);
  }
  return integer(negative ? 0 - expr.integer : expr.integer, type, expr.range);
}

hir::Expr* BodyChecker::float_literal(const ast::Expr& expr, const Type* expected) {
  const Type* type = suffix_type(expr.suffix);
  if (type == nullptr && expected != nullptr) {
    type = expected->is(TypeKind::kNullable) ? expected->element : expected;
  }
  if (type == nullptr || !type->is_float()) type = basic(TypeKind::kF64);
  E made = make(ExprKind::kFloat, type, expr.range);
  made->number = type->is(TypeKind::kF32) ? static_cast<float>(expr.number) : expr.number;
  return made;
}

// Whether the type of `expr` is open to what the context wants: literals and arithmetic on them.
bool BodyChecker::is_flexible(const ast::Expr& expr) {
  switch (expr.kind) {
    case ast::ExprKind::kInt:
    case ast::ExprKind::kFloat: return expr.suffix.empty();
    case ast::ExprKind::kUnary: return expr.unary != ast::UnaryOp::kNot && is_flexible(*expr.operands[0]);
    case ast::ExprKind::kBinary:
      switch (expr.binary) {
        case ast::BinaryOp::kShl:
        case ast::BinaryOp::kShr: return is_flexible(*expr.operands[0]);
        case ast::BinaryOp::kMul:
        case ast::BinaryOp::kDiv:
        case ast::BinaryOp::kRem:
        case ast::BinaryOp::kAdd:
        case ast::BinaryOp::kSub:
        case ast::BinaryOp::kBitAnd:
        case ast::BinaryOp::kBitXor:
        case ast::BinaryOp::kBitOr: return is_flexible(*expr.operands[0]) && is_flexible(*expr.operands[1]);
        default: return false;
      }
    default: return false;
  }
}

bool BodyChecker::has_float_literal(const ast::Expr& expr) {
  if (expr.kind == ast::ExprKind::kFloat) return true;
  if (expr.kind != ast::ExprKind::kUnary && expr.kind != ast::ExprKind::kBinary) return false;
  for (const ast::Expr* operand : expr.operands) {
    if (has_float_literal(*operand)) return true;
  }
  return false;
}

hir::Expr* BodyChecker::if_expr(const ast::Expr& expr, const Type* expected) {
  Condition test = condition(*expr.operands[0]);
  const Flow before = flow_;
  const ast::Expr& yes = *expr.operands[1];
  const ast::Expr& no = *expr.operands[2];
  E values[2] = {nullptr, nullptr};
  const auto check_branch = [&](int branch, const Type* hint) {
    flow_ = before;
    learn(branch == 0 ? test.when_true : test.when_false);
    values[branch] = value(branch == 0 ? yes : no, hint);
  };
  // A literal takes the type of the other branch.
  const int first = is_flexible(yes) || yes.kind == ast::ExprKind::kNull ? 1 : 0;
  check_branch(first, expected);
  const Type* hint = expected != nullptr ? expected : values[first]->type;
  check_branch(1 - first, hint);
  flow_ = before;
  const Type* type = common_type(values[0], yes.range, values[1], no.range);
  if (type == nullptr || test.value->type->is(TypeKind::kError)) return wrong(expr.range);
  return make(ExprKind::kConditional, type, expr.range, {test.value, values[0], values[1]});
}

const Type* BodyChecker::common_type(E& left, Range left_range, E& right, Range right_range) {
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
  }
  if (type == nullptr) {
    error(right_range, "this is '{}', and the other branch is '{}'", b->name, a->name)
        .note(left_range, "the other branch is here")
        .help("both must have one type");
    return nullptr;
  }
  left = coerce(left, type, left_range);
  right = coerce(right, type, right_range);
  return type;
}

hir::Expr* BodyChecker::array_literal(const ast::Expr& expr, const Type* expected) {
  if (expected != nullptr && expected->is(TypeKind::kNullable)) expected = expected->element;
  const Type* element = nullptr;
  if (expected != nullptr && expected->is(TypeKind::kArray) && expected->rank == 1)
    element = expected->element;
  if (expr.operands.empty() && element == nullptr) {
    error(expr.range, "the element type of `[]` is not known here").help("write `[T](0)` with the type T");
    return wrong(expr.range);
  }
  std::vector<E> values(expr.operands.size(), nullptr);
  if (element == nullptr) {
    // The first element that is no bare literal decides; `null` makes it nullable.
    bool any_float = false;
    bool any_null = false;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const ast::Expr& operand = *expr.operands[i];
      any_float = any_float || has_float_literal(operand);
      any_null = any_null || operand.kind == ast::ExprKind::kNull;
      if (element == nullptr && !is_flexible(operand) && operand.kind != ast::ExprKind::kNull) {
        values[i] = value(operand);
        element = values[i]->type;
      }
    }
    if (element == nullptr) {
      const bool only_null = is_flexible(*expr.operands[0]) ? false : [&] {
        for (const ast::Expr* operand : expr.operands) {
          if (operand->kind != ast::ExprKind::kNull) return false;
        }
        return true;
      }();
      if (only_null) {
        error(expr.range, "the element type of this array is not known here")
            .help("declare the variable with its type: `let a: [T?] = ...`");
        return wrong(expr.range);
      }
      element = basic(any_float ? TypeKind::kF64 : TypeKind::kI64);
    }
    if (any_null) element = types().nullable(element);
  }
  bool good = !element->is(TypeKind::kError);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const ast::Expr& operand = *expr.operands[i];
    if (values[i] == nullptr) values[i] = value(operand, element);
    values[i] = coerce(values[i], element, operand.range);
    good = good && !values[i]->type->is(TypeKind::kError);
  }
  if (!good) return wrong(expr.range);
  return make(ExprKind::kArrayLiteral, types().array(element, 1), expr.range, std::move(values));
}

hir::Expr* BodyChecker::new_array(const ast::Expr& expr) {
  const Type* type = analysis_.resolve(expr.type, context_);
  if (type->is(TypeKind::kError)) {
    check_all(expr);
    return wrong(expr.range);
  }
  std::vector<E> operands;
  E fill = nullptr;
  bool good = true;
  for (const ast::Argument& argument : expr.arguments) {
    if (argument.name.empty()) {
      operands.push_back(index_value(*argument.value));
    } else if (argument.name.text == "fill") {
      fill = value_as(*argument.value, type->element);
      good = good && !fill->type->is(TypeKind::kError);
    } else {
      error(argument.name.range, "a new array takes sizes and `fill: value`");
      good = false;
    }
  }
  if (good && operands.size() != type->rank) {
    error(expr.range, "'{}' takes {} size{}, not {}", type->name, type->rank, type->rank == 1 ? "" : "s",
          operands.size());
    return wrong(expr.range);
  }
  for (E operand : operands) good = good && !operand->type->is(TypeKind::kError);
  if (good && fill == nullptr && !has_zero(type->element)) {
    error(expr.range, "the elements of '{}' need a first value: '{}' has no null", type->name,
          type->element->name)
        .help("write `{}(..., fill: value)`, or make the elements `{}`", type->name,
              types().nullable(type->element)->name);
    good = false;
  }
  if (!good) return wrong(expr.range);
  E made = make(ExprKind::kNewArray, type, expr.range, std::move(operands));
  if (fill != nullptr) {
    made->operands.push_back(fill);
    made->has_fill = true;
  }
  return made;
}

bool BodyChecker::has_zero(const Type* type) {
  if (type->is_primitive() || type->is(TypeKind::kNullable) || type->is(TypeKind::kError)) return true;
  if (!type->is(TypeKind::kStruct)) return false;
  analysis_.complete(*analysis_.nominal(type));
  for (const FieldInfo& field : type->fields) {
    if (!has_zero(field.type)) return false;
  }
  return true;
}

hir::Expr* BodyChecker::index_value(const ast::Expr& expr) {
  const Type* i64 = basic(TypeKind::kI64);
  E index = value(expr, i64);
  if (index->type->is(TypeKind::kError)) return index;
  if (!index->type->is_integer()) {
    Diagnostic& diagnostic = error(expr.range, "an index or size is an integer, not '{}'", index->type->name);
    if (index->type->is_float()) diagnostic.help("write `as i64`");
    return wrong(expr.range);
  }
  return index->type == i64 ? index : make(ExprKind::kConvert, i64, expr.range, {index});
}

hir::Expr* BodyChecker::index_expr(const ast::Expr& expr) {
  return index_of(operand_value(*expr.operands[0]), expr);
}

hir::Expr* BodyChecker::index_of(E array, const ast::Expr& expr) {
  std::vector<E> operands;
  bool good = !array->type->is(TypeKind::kError);
  if (Nominal* nominal = analysis_.nominal(array->type); nominal != nullptr) {
    Diagnostic& diagnostic = error(expr.range, "a '{}' has no elements to index", array->type->name);
    const auto& methods = nominal->symbol->methods;
    if (methods.contains("get") && methods.contains("set")) {
      diagnostic.help("write `.{}(...)` and `.set(..., value)`", methods.contains("at") ? "at" : "get");
    } else if (methods.contains("get")) {
      diagnostic.help("write `.get(...)`");
    }
    return wrong(expr.range);
  }
  for (std::size_t i = 1; i < expr.operands.size(); ++i) {
    operands.push_back(index_value(*expr.operands[i]));
    good = good && !operands.back()->type->is(TypeKind::kError);
  }
  if (!good) return wrong(expr.range);
  const Type* type = array->type;
  const auto count_fits = [&](std::size_t wanted) {
    if (operands.size() == wanted) return true;
    Diagnostic& diagnostic = error(expr.range, "a '{}' takes {} ind{}, not {}", type->name, wanted,
                                   wanted == 1 ? "ex" : "ices", operands.size());
    if (wanted > 1) {
      diagnostic.help("write all of them in one pair of brackets: `{}`",
                      wanted == 2 ? "a[i, j]" : "a[i, j, k]");
    }
    return false;
  };
  switch (type->kind) {
    case TypeKind::kArray: {
      if (!count_fits(type->rank)) return wrong(expr.range);
      operands.insert(operands.begin(), array);
      return make(ExprKind::kIndex, type->element, expr.range, std::move(operands));
    }
    case TypeKind::kFixedArray: {
      if (!count_fits(1)) return wrong(expr.range);
      if (operands[0]->kind == ExprKind::kInt && operands[0]->integer >= type->count) {
        error(expr.operands[1]->range, "index {} is outside of '{}'",
              static_cast<std::int64_t>(operands[0]->integer), type->name);
        return wrong(expr.range);
      }
      E made = make(ExprKind::kFixedIndex, type->element, expr.range, std::move(operands));
      made->local = array->local;
      return made;
    }
    case TypeKind::kStr: {
      if (!count_fits(1)) return wrong(expr.range);
      return make(ExprKind::kStringByte, basic(TypeKind::kU8), expr.range, {array, operands[0]});
    }
    case TypeKind::kNullable:
      explain_null(error(expr.range, "this '{}' may be null", type->name), expr.operands[0]->range,
                   "trap on null with `!`");
      return wrong(expr.range);
    default: break;
  }
  error(expr.range, "a '{}' has no elements to index", type->name);
  return wrong(expr.range);
}

hir::Expr* BodyChecker::unwrap_expr(const ast::Expr& expr) {
  E operand = value(*expr.operands[0]);
  if (operand->type->is(TypeKind::kError)) return operand;
  if (!operand->type->is(TypeKind::kNullable)) {
    // Narrowing may have removed the null already; in generic code `!` may meet types without null.
    if (operand->kind == ExprKind::kUnwrap || !context_.bindings.empty()) return operand;
    error(expr.range, "a '{}' is never null", operand->type->name).help("remove the `!`");
    return wrong(expr.range);
  }
  return make(ExprKind::kCheckNonNull, operand->type->element, expr.range, {operand});
}

}  // namespace dhpvm::compiler
