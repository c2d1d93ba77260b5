// SPDX-License-Identifier: Apache-2.0
#include "compiler/check/arrays.h"

#include "compiler/check/body_parts.h"
#include "compiler/check/fold.h"

namespace dhpvm::compiler {

using hir::ExprKind;

hir::Expr* ArrayChecker::array_literal(const ast::Expr& expr, const Type* expected) {
  if (expected != nullptr && expected->is(TypeKind::kNullable)) expected = expected->element;
  if (E made = parts_.collection_literals.list(expr, expected); made != nullptr) return made;
  const Type* element = nullptr;
  if (expected != nullptr && expected->is(TypeKind::kArray) && expected->rank == 1)
    element = expected->element;
  if (expr.operands.empty() && element == nullptr) {
    error(expr.range, "the element type of `[]` is not known here").help("write `[T](0)` with the type T");
    return wrong(expr.range);
  }
  std::vector<E> values(expr.operands.size(), nullptr);
  if (element == nullptr) {
    // The first element that is not a bare literal determines the type; `null` makes it nullable.
    bool any_float = false;
    bool any_null = false;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const ast::Expr& operand = *expr.operands[i];
      any_float = any_float || LiteralChecker::has_float_literal(operand);
      any_null = any_null || operand.kind == ast::ExprKind::kNull;
      if (element == nullptr && !LiteralChecker::is_flexible(operand) &&
          operand.kind != ast::ExprKind::kNull) {
        values[i] = parts_.conversions.value(operand);
        element = values[i]->type;
      }
    }
    if (element == nullptr) {
      const bool only_null = LiteralChecker::is_flexible(*expr.operands[0]) ? false : [&] {
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
    if (values[i] == nullptr) values[i] = parts_.conversions.value(operand, element);
    values[i] = parts_.conversions.coerce(values[i], element, operand.range);
    good = good && !values[i]->type->is(TypeKind::kError);
  }
  if (!good) return wrong(expr.range);
  return make(ExprKind::kArrayLiteral, types().array(element, 1), expr.range, std::move(values));
}

namespace {

// Whether the value is a new array that has elements.
bool makes_elements(const hir::Expr& value) {
  if (value.kind == ExprKind::kArrayLiteral) return !value.operands.empty();
  if (value.kind != ExprKind::kNewArray) return false;
  const auto size = fold(*value.operands[0]);
  return !size.has_value() || size->integer != 0;
}

}  // namespace

hir::Expr* ArrayChecker::new_array(const ast::Expr& expr) {
  const Type* type = analysis_.resolve(expr.type, state_.context);
  if (type->is(TypeKind::kError)) {
    parts_.argument_matching.check_all(expr);
    return wrong(expr.range);
  }
  std::vector<E> operands;
  E fill = nullptr;
  bool good = true;
  for (const ast::Argument& argument : expr.arguments) {
    if (argument.name.empty()) {
      operands.push_back(index_value(*argument.value));
    } else if (argument.name.text == "fill") {
      fill = parts_.conversions.value_as(*argument.value, type->element);
      good = good && !fill->type->is(TypeKind::kError);
      if (makes_elements(*fill)) {
        analysis_.diagnostics()
            .warning(argument.value->range, "this is one array, and every element is that one")
            .help(
                "make one for each: `array.range(0, n).map(fn(_i) => {}(m))`; rows of one length are a "
                "`[{}, 2](n, m)`",
                fill->type->name, fill->type->element->name);
      }
    } else {
      error(argument.name.range, "a new array takes sizes and `fill: value`");
      good = false;
    }
  }
  if (good && operands.size() != type->rank) {
    error(expr.range, "'{}' takes {} size{}, not {}", type->name, type->rank, type->rank == 1 ? "" : "s",
          operands.size())
        .help("a first value is written `fill: x`, and rows and columns `[{}, 2](rows, cols)`",
              type->element->name);
    return wrong(expr.range);
  }
  for (E operand : operands) good = good && !operand->type->is(TypeKind::kError);
  if (good && fill == nullptr && !has_zero(type->element)) {
    const auto size = type->rank == 1 ? fold(*operands[0]) : std::nullopt;
    if (size.has_value() && size->integer == 0) return make(ExprKind::kArrayLiteral, type, expr.range);
    const std::string nullable = types().nullable(type->element)->name;
    const std::string otherwise =
        type->rank == 1 && !state_.context.bindings.empty()
            ? fmt::format(", or take `array.unset<{}>(n)` for elements that are set before they are read",
                          type->element->name)
            : "";
    Diagnostic& diagnostic = error(expr.range, "the elements of '{}' need a first value: '{}' has no null",
                                   type->name, type->element->name);
    if (type->element->is(TypeKind::kArray) && type->rank == 1)
      diagnostic.help("make one for each: `array.range(0, n).map(fn(_i) => {}(m))`", type->element->name);
    diagnostic.help("write `{}(..., fill: value)`, or make the elements `{}`{}", type->name, nullable,
                    otherwise);
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

bool ArrayChecker::has_zero(const Type* type) {
  if (type->is_primitive() || type->is(TypeKind::kNullable) || type->is(TypeKind::kError)) return true;
  if (!type->is(TypeKind::kStruct) || type->is_enum) return false;
  analysis_.complete(*analysis_.nominal(type));
  for (const FieldInfo& field : type->fields) {
    if (!has_zero(field.type)) return false;
  }
  return true;
}

hir::Expr* ArrayChecker::index_value(const ast::Expr& expr) {
  const Type* i64 = basic(TypeKind::kI64);
  E index = parts_.conversions.value(expr, i64);
  if (index->type->is(TypeKind::kError)) return index;
  if (!index->type->is_integer()) {
    Diagnostic& diagnostic = error(expr.range, "an index or size is an integer, not '{}'", index->type->name);
    if (index->type->is_float()) diagnostic.help("write `as i64`");
    return wrong(expr.range);
  }
  return index->type == i64 ? index : make(ExprKind::kConvert, i64, expr.range, {index});
}

hir::Expr* ArrayChecker::index_expr(const ast::Expr& expr) {
  E array = parts_.conversions.operand_value(*expr.operands[0]);
  const bool is_element = array->kind == ExprKind::kIndex && expr.operands.size() == 2;
  if (E matrix = is_element && state_.in_kernel() ? parts_.names.shared_matrix(array->operands[0]) : nullptr;
      matrix != nullptr) {
    E column = index_value(*expr.operands[1]);
    if (column->type->is(TypeKind::kError)) return wrong(expr.range);
    warn_of_negative(*column, expr.operands[1]->range, array->type, expr.operands[0]);
    return make(ExprKind::kIndex, array->type->element, expr.range, {matrix, array->operands[1], column});
  }
  // A row of a constant is copied to a new array if it is used as a whole.
  const bool gives_row = array->type->is(TypeKind::kArray) && array->type->element->is(TypeKind::kArray);
  return index_of(gives_row ? array : parts_.names.shared_rows(array), expr);
}

hir::Expr* ArrayChecker::fixed_element(hir::Local* array, std::vector<E> indices, Range range) {
  const Type* type = array->type->element;
  if (array->type->is(TypeKind::kArray)) {
    indices.insert(indices.begin(), read(array, range));
    return make(ExprKind::kIndex, type, range, std::move(indices));
  }
  E made = make(ExprKind::kFixedIndex, type, range, std::move(indices));
  made->local = array;
  return made;
}

std::string ArrayChecker::array_like(const Type* fixed) {
  if (fixed->rank == 1) return fmt::format("[{}]({})", fixed->element->name, fixed->count);
  return fmt::format("[{}, 2]({}, {})", fixed->element->name, rows_of(fixed), fixed->columns);
}

std::uint64_t ArrayChecker::rows_of(const Type* fixed) {
  return fixed->rank == 1 ? fixed->count : fixed->count / fixed->columns;
}

// Warns of an index of `whole` below 0. Not an error: dead or generated code may contain it.
bool ArrayChecker::warn_of_negative(const hir::Expr& index, Range range, const Type* type,
                                    const ast::Expr* whole) {
  const auto known = fold(index);
  if (!known || static_cast<std::int64_t>(known->integer) >= 0) return false;
  const auto value = static_cast<std::int64_t>(known->integer);
  Diagnostic& diagnostic =
      analysis_.diagnostics().warning(range, "an index counts from 0, and this is {}", value);
  if (whole == nullptr) return true;
  const std::string_view name = analysis_.diagnostics().sources().text(whole->range);
  diagnostic.help("from the end: `{}.len{} - {}`", name, analysis_.nominal(type) != nullptr ? "()" : "",
                  0 - known->integer);
  return true;
}

hir::Expr* ArrayChecker::index_of(E array, const ast::Expr& expr) {
  if (parts_.elements.may_define(array->type)) {
    // Keys of maps may be negative, positions in lists are not.
    const Nominal* nominal = analysis_.nominal(array->type);
    const bool is_list = nominal != nullptr && !analysis_.tuples().is_tuple(array->type) &&
                         nominal->symbol->module->module->is_stdlib &&
                         nominal->symbol->methods.contains("nth");
    const ast::Expr& index = *expr.operands[1];
    if (is_list && index.kind == ast::ExprKind::kUnary)
      warn_of_negative(*index_value(index), index.range, array->type, expr.operands[0]);
    const ElementMethods::Element element = parts_.elements.to_read(array, expr);
    return element.object == nullptr ? wrong(expr.range) : parts_.elements.read(element);
  }
  std::vector<E> operands;
  bool good = !array->type->is(TypeKind::kError);
  for (std::size_t i = 1; i < expr.operands.size(); ++i) {
    operands.push_back(index_value(*expr.operands[i]));
    good = good && !operands.back()->type->is(TypeKind::kError);
  }
  if (!good) return wrong(expr.range);
  const Type* type = array->type;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const bool is_indexed =
        type->is(TypeKind::kArray) || type->is(TypeKind::kFixedArray) || type->is(TypeKind::kStr);
    if (!is_indexed) break;
    const ast::Expr* whole = type->rank == 1 ? expr.operands[0] : nullptr;
    if (warn_of_negative(*operands[i], expr.operands[i + 1]->range, type, whole)) break;
  }
  const auto count_fits = [&](std::size_t wanted) {
    if (operands.size() == wanted) return true;
    Diagnostic& diagnostic = error(expr.range, "a '{}' takes {} ind{}, not {}", type->name, wanted,
                                   wanted == 1 ? "ex" : "ices", operands.size());
    if (wanted > 1) {
      diagnostic.help("write all of them in one pair of brackets: `{}`",
                      wanted == 2 ? "a[i, j]" : "a[i, j, k]");
    } else if (type->is(TypeKind::kArray) && type->element->is(TypeKind::kArray)) {
      diagnostic.help("its elements are arrays: write `a[i][j]`");
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
      if (!count_fits(type->rank)) return wrong(expr.range);
      for (std::size_t i = 0; i < operands.size(); ++i) {
        const std::uint64_t size = i == 1 ? type->columns : rows_of(type);
        if (operands[i]->kind != ExprKind::kInt || operands[i]->integer < size) continue;
        error(expr.operands[i + 1]->range, "index {} is outside of '{}'",
              static_cast<std::int64_t>(operands[i]->integer), type->name);
        return wrong(expr.range);
      }
      return fixed_element(array->local, std::move(operands), expr.range);
    }
    case TypeKind::kStr: {
      if (!count_fits(1)) return wrong(expr.range);
      return make(ExprKind::kStringByte, basic(TypeKind::kU8), expr.range, {array, operands[0]});
    }
    case TypeKind::kNullable:
      parts_.narrowing.explain_null(error(expr.range, "this '{}' may be null", type->name),
                                    expr.operands[0]->range, "trap on null with `!`");
      return wrong(expr.range);
    default: break;
  }
  error(expr.range, "a '{}' has no elements to index", type->name);
  return wrong(expr.range);
}

}  // namespace dhpvm::compiler
