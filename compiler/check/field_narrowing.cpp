// SPDX-License-Identifier: Apache-2.0
#include "compiler/check/field_narrowing.h"

#include <algorithm>
#include <utility>

#include "compiler/check/body_parts.h"

namespace dhpvm::compiler {

using hir::ExprKind;

bool FieldNarrowing::find(const hir::Expr& value, FieldPath& path, bool& is_lasting) const {
  is_lasting = true;
  const hir::Expr* at = &value;
  while (at->kind != ExprKind::kLocal) {
    if (at->kind == ExprKind::kField) {
      const Type* const holder = at->operands[0]->type;
      if (holder->is(TypeKind::kClass)) is_lasting = is_lasting && holder->fields[at->index].immutable;
      path.fields.emplace_back(holder, at->index);
    } else if (at->kind != ExprKind::kUnwrap && at->kind != ExprKind::kCheckNonNull &&
               at->kind != ExprKind::kCast) {
      return false;
    }
    at = at->operands[0];
  }
  const auto is_root = [&](const Variable& variable) { return variable.local == at->local; };
  const auto root = std::ranges::find_if(state_.variables, is_root);
  if (path.fields.empty() || root == state_.variables.end() || root->frame != state_.frame) return false;
  path.root = at->local;
  is_lasting = is_lasting && !root->assignable();
  return true;
}

bool FieldNarrowing::add_fact(const hir::Expr& value, const Type* type, Range range,
                              std::vector<Fact>& facts) {
  Fact fact;
  if (!find(value, fact.field, fact.is_lasting)) return false;
  fact.type = type;
  if (!fact.is_lasting) state_.tested_for_a_moment.insert(analysis_.diagnostics().sources().text(range));
  facts.push_back(std::move(fact));
  return true;
}

void FieldNarrowing::keep_since(Mark mark, std::vector<Fact>& facts) const {
  if (mark.moment == state_.moment && mark.assignments == state_.field_assignments) return;
  std::erase_if(facts, [](const Fact& fact) { return fact.variable == nullptr && !fact.is_lasting; });
}

void FieldNarrowing::learn(const std::vector<Fact>& facts) {
  for (const Fact& fact : facts) {
    if (fact.variable != nullptr) continue;
    state_.flow.fields[fact.field] = {fact.type, fact.is_lasting ? FieldType::kForever : state_.moment};
  }
}

hir::Expr* FieldNarrowing::refine(E field) {
  if (state_.flow.fields.empty() || field->kind != ExprKind::kField) return field;
  FieldPath path;
  bool is_lasting = true;
  if (!find(*field, path, is_lasting)) return field;
  const auto known = state_.flow.fields.find(path);
  if (known == state_.flow.fields.end()) return field;
  const FieldType& fact = known->second;
  if (fact.moment != FieldType::kForever && fact.moment != state_.moment) return field;
  return parts_.narrowing.refine(field, fact.type, analysis_.range_of(field));
}

// Invalidates the fact for any object: two paths may lead to the same one.
void FieldNarrowing::assigned(const hir::Expr& field) {
  if (field.kind != ExprKind::kField) return;
  ++state_.field_assignments;
  const std::pair<const Type*, std::uint32_t> changed{field.operands[0]->type, field.index};
  std::erase_if(state_.flow.fields,
                [&](const auto& entry) { return std::ranges::count(entry.first.fields, changed) != 0; });
}

void FieldNarrowing::forget_behind(const Variable& variable) {
  ++state_.field_assignments;
  std::erase_if(state_.flow.fields, [&](const auto& entry) { return entry.first.root == variable.local; });
}

void FieldNarrowing::merge(std::map<FieldPath, FieldType>& into,
                           const std::map<FieldPath, FieldType>& other) {
  std::map<FieldPath, FieldType> both;
  for (const auto& [path, fact] : into) {
    const auto same = other.find(path);
    if (same == other.end() || same->second.type != fact.type) continue;
    both[path] = {fact.type, std::min(fact.moment, same->second.moment)};
  }
  into = std::move(both);
}

}  // namespace dhpvm::compiler
