// SPDX-License-Identifier: Apache-2.0
#include "compiler/check/collection_literals.h"

#include <utility>

#include "compiler/check/body_parts.h"

namespace dhpvm::compiler {

namespace {

constexpr std::string_view kAddAll = "append_array";
constexpr std::string_view kPut = "set";

}  // namespace

// A new object without elements.
hir::Expr* CollectionLiterals::empty(const Type* type, Range range) {
  ast::Expr call;
  call.kind = ast::ExprKind::kCall;
  call.range = range;
  return parts_.construction.construct_type(type, call, nullptr);
}

hir::Expr* CollectionLiterals::list(const ast::Expr& expr, const Type* expected) {
  if (expected == nullptr || !expected->is(TypeKind::kClass)) return nullptr;
  const std::vector<const Type*>* parameters = parts_.calls.parameters_of(expected, kAddAll, expr.range);
  if (parameters == nullptr || parameters->size() != 1 || !parameters->front()->is(TypeKind::kArray))
    return nullptr;
  E object = empty(expected, expr.range);
  if (expr.operands.empty() || object->type->is(TypeKind::kError)) return object;
  Body before;
  E elements = parts_.arrays.array_literal(expr, parameters->front());
  if (elements->type->is(TypeKind::kError)) return elements;
  elements = stable(elements, before);
  object = stable(object, before);
  before.push_back(evaluate(parts_.calls.invoke(object, kAddAll, {elements}, expr.range)));
  return in_block(std::move(before), object, expr.range);
}

// The type of the keys (`first` is 0) or values (1): that of the first one that is not a bare literal, which is checked
// here.
const Type* CollectionLiterals::type_of_parts(const ast::Expr& expr, std::size_t first,
                                              std::vector<E>& checked) {
  bool any_float = false;
  for (std::size_t i = first; i < expr.operands.size(); i += 2) {
    const ast::Expr& part = *expr.operands[i];
    any_float = any_float || LiteralChecker::has_float_literal(part);
    if (LiteralChecker::is_flexible(part)) continue;
    checked[i] = parts_.conversions.value(part);
    return checked[i]->type;
  }
  return basic(any_float ? TypeKind::kF64 : TypeKind::kI64);
}

// The class of the literal; the error type after a diagnostic.
const Type* CollectionLiterals::map_type(const ast::Expr& expr, const Type* expected,
                                         std::vector<E>& checked) {
  if (expected != nullptr && expected->is(TypeKind::kNullable)) expected = expected->element;
  if (expected != nullptr && expected->is(TypeKind::kClass)) {
    const std::vector<const Type*>* parameters = parts_.calls.parameters_of(expected, kPut, expr.range);
    if (parameters != nullptr && parameters->size() == 2) return expected;
  }
  NominalSymbol* map = analysis_.find_type({}, "Map", expr.range, state_.context, false);
  if (map == nullptr || map->declaration->type_parameters.size() != 2) {
    error(expr.range, "a literal of keys and values is a `Map`, and that is another type here")
        .help("give your own `Map` another name, or write `map.Map<K, V>()`");
    return error_type();
  }
  if (expr.operands.empty()) {
    error(expr.range, "the types of the keys and values of `[:]` are not known here")
        .help("write `Map<K, V>()` with the types K and V");
    return error_type();
  }
  const Type* key = type_of_parts(expr, 0, checked);
  const Type* value = type_of_parts(expr, 1, checked);
  if (key->is(TypeKind::kError) || value->is(TypeKind::kError)) return error_type();
  if (key->is(TypeKind::kNull) || value->is(TypeKind::kNull)) {
    error(expr.range, "the types of the keys and values are not known here")
        .help("declare the variable with its type: `let m: Map<K, V?> = ...`");
    return error_type();
  }
  return analysis_.instantiate(*map, {key, value}, expr.range);
}

hir::Expr* CollectionLiterals::map(const ast::Expr& expr, const Type* expected) {
  std::vector<E> checked(expr.operands.size(), nullptr);
  const Type* type = map_type(expr, expected, checked);
  if (type->is(TypeKind::kError)) return wrong(expr.range);
  E object = empty(type, expr.range);
  if (object->type->is(TypeKind::kError)) return object;
  const std::vector<const Type*>& parameters = *parts_.calls.parameters_of(type, kPut, expr.range);
  Body before;
  object = stable(object, before);
  bool good = true;
  for (std::size_t i = 0; i + 1 < expr.operands.size(); i += 2) {
    std::vector<E> entry;
    for (std::size_t part = 0; part < 2; ++part) {
      const ast::Expr& syntax = *expr.operands[i + part];
      E known = checked[i + part];
      entry.push_back(known != nullptr ? parts_.conversions.coerce(known, parameters[part], syntax.range)
                                       : parts_.conversions.value_as(syntax, parameters[part]));
      good = good && !entry.back()->type->is(TypeKind::kError) && !parameters[part]->is(TypeKind::kError);
    }
    if (good) before.push_back(evaluate(parts_.calls.invoke(object, kPut, std::move(entry), expr.range)));
  }
  return good ? in_block(std::move(before), object, expr.range) : wrong(expr.range);
}

}  // namespace dhpvm::compiler
