// SPDX-License-Identifier: Apache-2.0
#include "compiler/check/array_methods.h"

#include "compiler/check/body_parts.h"

namespace dhpvm::compiler {

using hir::Binary;
using hir::ExprKind;

hir::Expr* ArrayMethods::array_method(E array, const ast::Expr& member, const ast::Expr& call) {
  const std::string_view name = member.name.text;
  const Type* type = array->type;
  const Range range = call.range;
  if (name == "close") {
    if (!parts_.argument_matching.expect_arguments(call, 0, 0, "close()")) return wrong(range);
    return make(ExprKind::kArrayClose, basic(TypeKind::kVoid), range, {array});
  }
  if (name == "dim") {
    if (!parts_.argument_matching.expect_arguments(call, 1, 1, "dim(0)")) return wrong(range);
    const ast::Expr& argument = *call.arguments[0].value;
    const hir::Expr* dimension = analysis_.constants().expression(
        argument, state_.context, basic(TypeKind::kI64), "the number of a dimension");
    if (dimension == nullptr) return wrong(range);
    if (dimension->integer >= type->rank) {
      error(argument.range, "a '{}' has {} dimension{}, counted from 0", type->name, type->rank,
            type->rank == 1 ? "" : "s");
      return wrong(range);
    }
    E made = make(ExprKind::kArrayDim, basic(TypeKind::kI64), range, {array});
    made->index = static_cast<std::uint32_t>(dimension->integer);
    return made;
  }
  if (name == "copy") {
    if (!parts_.argument_matching.expect_arguments(call, 0, 0, "copy()")) return wrong(range);
    return array_copy(array, range);
  }
  if (name == "fill") {
    if (!parts_.argument_matching.expect_arguments(call, 1, 1, "fill(value)")) return wrong(range);
    E filler = parts_.conversions.value_as(*call.arguments[0].value, type->element);
    if (filler->type->is(TypeKind::kError)) return filler;
    return array_fill(array, filler, range);
  }
  if (name == "slice") {
    if (!parts_.argument_matching.expect_arguments(call, 2, 2, "slice(from, to)")) return wrong(range);
    E low = parts_.arrays.index_value(*call.arguments[0].value);
    E high = parts_.arrays.index_value(*call.arguments[1].value);
    if (low->type->is(TypeKind::kError) || high->type->is(TypeKind::kError)) return wrong(range);
    if (type->rank != 1) {
      error(range, "only arrays of rank 1 can be sliced, not '{}'", type->name);
      return wrong(range);
    }
    return array_slice(array, low, high, range);
  }
  return nullptr;
}

hir::Expr* ArrayMethods::dim_of(E array, std::uint32_t dimension, Range range) {
  E made = make(ExprKind::kArrayDim, basic(TypeKind::kI64), range, {array});
  made->index = dimension;
  return made;
}

// `x[low..high]`, which is `x.slice(low, high)`.
hir::Expr* ArrayMethods::slice_expr(const ast::Expr& expr) {
  const Range range = expr.range;
  Body before;
  E whole = parts_.conversions.operand_value(*expr.operands[0]);
  const Type* type = whole->type;
  if (!type->is(TypeKind::kError) && !type->is(TypeKind::kFixedArray)) whole = stable(whole, before);
  E low = parts_.arrays.index_value(*expr.operands[1]);
  E high = expr.operands.size() > 2 ? parts_.arrays.index_value(*expr.operands[2])
                                    : parts_.loops.count_of(whole, range);
  const bool wrong_part =
      high != nullptr && (low->type->is(TypeKind::kError) || high->type->is(TypeKind::kError));
  if (type->is(TypeKind::kError) || wrong_part) return wrong(range);
  const Nominal* nominal = analysis_.nominal(type);
  const bool is_tuple = analysis_.tuples().is_tuple(type);
  if (nominal == nullptr || (!is_tuple && nominal->symbol->module->module->is_stdlib)) {
    for (std::size_t i = 1; i < expr.operands.size(); ++i)
      parts_.arrays.warn_of_negative(i == 1 ? *low : *high, expr.operands[i]->range, type, expr.operands[0]);
  }
  if (expr.inclusive) high = binary(Binary::kAdd, high, integer(1, high->type, range), range);
  E part = nullptr;
  if (type->is(TypeKind::kArray) && type->rank == 1) {
    part = array_slice(whole, low, high, range);
  } else if (type->is(TypeKind::kStr)) {
    part = call_native("str.slice", {whole, low, high}, type, range);
  } else if (high != nullptr) {
    part = parts_.calls.invoke(whole, "slice", {low, high}, range);
  }
  if (part != nullptr) return in_block(std::move(before), part, range);
  report_no_slice(type, expr);
  return wrong(range);
}

void ArrayMethods::report_no_slice(const Type* type, const ast::Expr& expr) {
  if (type->is(TypeKind::kNullable)) {
    parts_.narrowing.explain_null(error(expr.range, "this '{}' may be null", type->name),
                                  expr.operands[0]->range, "trap on null with `!`");
    return;
  }
  Diagnostic& diagnostic = error(expr.range, "a '{}' has no parts to slice", type->name);
  parts_.results.explain(diagnostic, type, expr.operands[0]->range);
  if (type->is(TypeKind::kClass) && !analysis_.errors().is_result(type)) {
    diagnostic.help("give it the methods `fn len() -> i64` and `fn slice(low: i64, high: i64) -> T`");
  } else if (type->is(TypeKind::kArray)) {
    diagnostic.help("only arrays of rank 1 can be sliced");
  }
}

// let part = [T](high - low); copy part, 0, array, low, high - low. A negative length or a range outside of
// the array traps in these two.
hir::Expr* ArrayMethods::array_slice(E array, E low, E high, Range range) {
  const Type* i64 = basic(TypeKind::kI64);
  std::vector<hir::Stmt*> before;
  array = stable(array, before);
  low = stable(low, before);
  E count = stable(binary(Binary::kSub, high, low, range), before);
  E part = stable(make(ExprKind::kNewArray, array->type, range, {count}), before);
  before.push_back(evaluate(make(ExprKind::kArrayCopy, basic(TypeKind::kVoid), range,
                                 {part, integer(0, i64, range), array, low, count})));
  return in_block(std::move(before), part, range);
}

hir::Expr* ArrayMethods::array_copy(E array, Range range) {
  const Type* type = array->type;
  const Type* i64 = basic(TypeKind::kI64);
  std::vector<hir::Stmt*> before;
  array = stable(array, before);
  std::vector<E> sizes;
  for (std::uint32_t i = 0; i < type->rank; ++i) sizes.push_back(dim_of(array, i, range));
  E copy = stable(make(ExprKind::kNewArray, type, range, std::move(sizes)), before);
  E zero = integer(0, i64, range);
  E count = make(ExprKind::kArrayLength, i64, range, {array});
  before.push_back(
      evaluate(make(ExprKind::kArrayCopy, basic(TypeKind::kVoid), range, {copy, zero, array, zero, count})));
  return in_block(std::move(before), copy, range);
}

hir::Expr* ArrayMethods::array_fill(E array, E filler, Range range) {
  const std::uint32_t rank = array->type->rank;
  const Type* element = array->type->element;
  std::vector<hir::Stmt*> before;
  array = stable(array, before);
  filler = stable(filler, before);
  std::vector<E> indices{array};
  const std::function<Body(std::uint32_t)> level = [&](std::uint32_t dimension) -> Body {
    if (dimension == rank) return {assign(make(ExprKind::kIndex, element, range, indices), filler, range)};
    return {count_loop(dim_of(array, dimension, range), range, [&](E index) {
      indices.push_back(index);
      return level(dimension + 1);
    })};
  };
  for (hir::Stmt* stmt : level(0)) before.push_back(stmt);
  E made = make(ExprKind::kBlock, basic(TypeKind::kVoid), range);
  made->statements = std::move(before);
  return made;
}

}  // namespace dhpvm::compiler
