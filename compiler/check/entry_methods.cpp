// SPDX-License-Identifier: Apache-2.0
#include "compiler/check/entry_methods.h"

#include <utility>
#include <vector>

#include "compiler/check/body_parts.h"

namespace dhpvm::compiler {

using hir::ExprKind;

namespace {

constexpr std::string_view kFind = "entry_of";
constexpr std::string_view kRead = "entry_value";
constexpr std::string_view kWrite = "set_entry";

}  // namespace

hir::Expr* EntryMethods::find(const Element& element, const Type* type) {
  const Range range = element.syntax->range;
  const auto parameters_are = [&](std::string_view method, const std::vector<const Type*>& wanted) {
    const std::vector<const Type*>* found = parts_.calls.parameters_of(element.object->type, method, range);
    return found != nullptr && *found == wanted;
  };
  const Type* i64 = basic(TypeKind::kI64);
  if (!type->is(TypeKind::kStr) && !type->is_number()) return nullptr;
  if (!parameters_are(kRead, {i64}) || !parameters_are(kWrite, {i64, type})) return nullptr;
  std::vector<E> arguments = element.indices;
  arguments.push_back(type->is(TypeKind::kStr) ? string("", range) : make(ExprKind::kZero, type, range));
  E entry = parts_.calls.invoke(element.object, kFind, std::move(arguments), range);
  return entry != nullptr && entry->type == i64 ? entry : nullptr;
}

hir::Expr* EntryMethods::read(const Element& element, hir::Local* entry) {
  const Range range = element.syntax->range;
  return parts_.calls.invoke(element.object, kRead, {BodyPart::read(entry, range)}, range);
}

hir::Expr* EntryMethods::write(const Element& element, hir::Local* entry, E value, Range range) {
  E call = parts_.calls.invoke(element.object, kWrite, {BodyPart::read(entry, range), value}, range);
  return call != nullptr ? call : wrong(range);
}

}  // namespace dhpvm::compiler
