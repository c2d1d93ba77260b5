// SPDX-License-Identifier: Apache-2.0
#include "compiler/check/element_methods.h"

#include <algorithm>
#include <utility>

#include "compiler/check/body_parts.h"
#include "compiler/text/habits.h"

namespace dhpvm::compiler {

using hir::ExprKind;

namespace {

constexpr std::string_view kRead = "at";
constexpr std::string_view kWrite = "set";
constexpr std::string_view kReadOr = "get_or";
constexpr std::string_view kPosition = "nth";

}  // namespace

// The parameters of the method that reads elements; null after a diagnostic.
const ElementMethods::Parameters* ElementMethods::reading(E object, const ast::Expr& expr) {
  const Parameters* found = parts_.calls.parameters_of(object->type, kRead, expr.range);
  if (found == nullptr || found->empty()) {
    report_unreadable(object, expr);
    return nullptr;
  }
  return found;
}

void ElementMethods::report_unreadable(E object, const ast::Expr& expr) {
  const Type* type = object->type;
  Diagnostic& diagnostic = error(expr.range, "a '{}' has no elements to index", type->name);
  if (analysis_.errors().is_result(type)) {
    parts_.results.explain(diagnostic, type, expr.operands[0]->range);
    return;
  }
  if (analysis_.tuples().is_tuple(type)) {
    diagnostic.help("the values of a tuple are `.0`, `.1` and so on, or take it apart: `let (a, b) = ...;`");
    return;
  }
  const NominalSymbol& symbol = *analysis_.nominal(type)->symbol;
  if (const std::string_view advice = advice_for_foreign(fmt::format("{} x[i]", symbol.name()));
      symbol.module->module->is_stdlib && !advice.empty()) {
    diagnostic.help("{}", advice);
    return;
  }
  const char* otherwise = symbol.methods.contains("get") ? "write `.get(...)`, or " : "";
  diagnostic.help("{}give it a method `fn at(i: i64) -> T`, which `x[i]` calls", otherwise);
}

// The parameters of the method that writes elements, the last being the element; null after a diagnostic.
const ElementMethods::Parameters* ElementMethods::writing(E object, const ast::Expr& expr) {
  const Parameters* found = parts_.calls.parameters_of(object->type, kWrite, expr.range);
  if (found != nullptr && found->size() >= 2) return found;
  if (const Parameters* read = reading(object, expr); read != nullptr) {
    error(expr.range, "the elements of a '{}' cannot be assigned", object->type->name)
        .help("give it a method `fn set(i: {}, x: T)`, which `x[i] = v` calls", (*read)[0]->name);
  }
  return nullptr;
}

// `count`: the number of indices, which are the first parameters.
ElementMethods::Element ElementMethods::checked(E object, const ast::Expr& expr, const Parameters& parameters,
                                                std::size_t count) {
  Element element{object, {}, &expr, false};
  const std::size_t given = expr.operands.size() - 1;
  if (given != count) {
    error(expr.range, "a '{}' takes {} ind{}, not {}", object->type->name, count, count == 1 ? "ex" : "ices",
          given);
    return {};
  }
  bool good = true;
  for (std::size_t i = 0; i < count; ++i) {
    const ast::Expr& index = *expr.operands[i + 1];
    element.indices.push_back(parameters[i]->is(TypeKind::kI64)
                                  ? parts_.arrays.index_value(index)
                                  : parts_.conversions.value_as(index, parameters[i]));
    good =
        good && !element.indices.back()->type->is(TypeKind::kError) && !parameters[i]->is(TypeKind::kError);
  }
  return good ? element : Element{};
}

ElementMethods::Element ElementMethods::to_read(E object, const ast::Expr& expr) {
  const Parameters* parameters = reading(object, expr);
  if (parameters == nullptr) return {};
  const bool by_text =
      parameters->size() == 1 && expr.operands.size() == 2 && (*parameters)[0]->is(TypeKind::kStr);
  if (by_text && has_positions(object, expr)) return text_or_position(object, expr);
  return checked(object, expr, *parameters, parameters->size());
}

bool ElementMethods::has_positions(E object, const ast::Expr& expr) {
  const Parameters* positions = parts_.calls.parameters_of(object->type, kPosition, expr.range);
  return positions != nullptr && positions->size() == 1 && (*positions)[0]->is(TypeKind::kI64);
}

// If `at` takes a text, and `nth` a number, an integer index calls `nth`: fields and elements of JSON.
ElementMethods::Element ElementMethods::text_or_position(E object, const ast::Expr& expr) {
  const ast::Expr& syntax = *expr.operands[1];
  E index = parts_.conversions.value(syntax, basic(TypeKind::kStr));
  const bool is_position = index->type->is_integer();
  const Type* wanted = basic(is_position ? TypeKind::kI64 : TypeKind::kStr);
  if (!is_position) index = parts_.conversions.coerce(index, wanted, syntax.range);
  if (index->type->is(TypeKind::kError)) return {};
  if (index->type != wanted) index = make(ExprKind::kConvert, wanted, syntax.range, {index});
  return {object, {index}, &expr, is_position};
}

ElementMethods::Element ElementMethods::to_assign(E object, const ast::Expr& expr) {
  const Parameters* parameters = writing(object, expr);
  return parameters == nullptr ? Element{} : checked(object, expr, *parameters, parameters->size() - 1);
}

bool ElementMethods::to_update(Element& element, Body& before) {
  const Parameters* written = writing(element.object, *element.syntax);
  if (written == nullptr) return false;
  const auto fits = [](E index, const Type* parameter) { return index->type == parameter; };
  if (element.indices.size() + 1 != written->size() ||
      !std::equal(element.indices.begin(), element.indices.end(), written->begin(), fits)) {
    error(element.syntax->range, "`at` and `set` of a '{}' take different indices",
          element.object->type->name)
        .help("declare both with the same, as in `fn at(i: i64) -> T` and `fn set(i: i64, x: T)`");
    return false;
  }
  element.object = stable(element.object, before);
  for (E& index : element.indices) index = stable(index, before);
  return true;
}

hir::Expr* ElementMethods::read(const Element& element) {
  const std::string_view method = element.by_position ? kPosition : kRead;
  E call = parts_.calls.invoke(element.object, method, element.indices, element.syntax->range);
  return call != nullptr ? call : wrong(element.syntax->range);
}

hir::Expr* ElementMethods::read_for_update(const Element& element) {
  const Range range = element.syntax->range;
  const Parameters* parameters = parts_.calls.parameters_of(element.object->type, kReadOr, range);
  if (parameters == nullptr || parameters->empty()) return read(element);
  const Type* type = parameters->back();
  std::vector<E> arguments = element.indices;
  if (type->is(TypeKind::kStr)) {
    arguments.push_back(string("", range));
  } else if (type->is_number()) {
    arguments.push_back(make(ExprKind::kZero, type, range));
  } else {
    return read(element);
  }
  E found = parts_.calls.invoke(element.object, kReadOr, std::move(arguments), range);
  return found != nullptr && found->type == type ? found : read(element);
}

const Type* ElementMethods::assigned_type(const Element& element) {
  return parts_.calls.parameters_of(element.object->type, kWrite, element.syntax->range)->back();
}

hir::Expr* ElementMethods::write(const Element& element, E value, Range range) {
  std::vector<E> arguments = element.indices;
  arguments.push_back(value);
  E call = parts_.calls.invoke(element.object, kWrite, std::move(arguments), range);
  if (call == nullptr) return wrong(range);
  if (!analysis_.errors().is_result(call->type)) return call;
  parts_.results.explain(error(range, "this may fail, and its error would be lost"), call->type, range);
  return wrong(range);
}

}  // namespace dhpvm::compiler
