// SPDX-License-Identifier: Apache-2.0
#include "codegen/lower/reference_search.h"

#include <algorithm>
#include <utility>

namespace dhpvm::codegen {

using bytecode::Family;
using bytecode::Op;

void ReferenceSearch::visit(const bytecode::Module& module, const Instruction& i) {
  std::optional<std::uint32_t> given;
  switch (i.row->family) {
    case Family::kLoad:
    case Family::kLoadField:
      if (InvariantReference* const array = accessed(i, i.b)) array->read = true;
      if (i.row->family == Family::kLoad) given = element(i);
      break;
    case Family::kGetField:
      given = field(i);
      note_number(i);
      break;
    case Family::kMoveR: given = held_by(i.b); break;
    case Family::kAtomic:
      if (InvariantReference* const array = accessed(i, i.b)) array->written = true;
      break;
    case Family::kStore:
    case Family::kStoreField:
      if (InvariantReference* const array = accessed(i, i.a)) array->written = true;
      break;
    case Family::kArrayLength:
      if (InvariantReference* const array = accessed(i, i.b)) array->length = true;
      break;
    case Family::kIndex:
      if (InvariantReference* const array = accessed(i, i.b)) {
        array->dimensions = std::max(array->dimensions, i.op == Op::kIndex3 ? 3u : 2u);
      }
      break;
    default: break;
  }
  for_each_reference_write(module, i, [&](std::uint32_t reg) { held_.erase(reg); });
  if (given) held_[i.a] = *given;
}

std::uint32_t ReferenceSearch::number_of(const InvariantReference& reference, Place place) {
  const auto [known, is_new] =
      numbers_.try_emplace({reference.origin, std::move(place), reference.parent}, numbers_.size());
  if (is_new) loop_.references.push_back(reference);
  return known->second;
}

// The number of the reference in the register, if it is invariant.
std::optional<std::uint32_t> ReferenceSearch::held_by(std::uint32_t reg) {
  const auto held = held_.find(reg);
  if (held != held_.end()) return held->second;
  if (writes_.references.contains(reg)) return std::nullopt;
  return number_of({.origin = Origin::kRegister, .place = reg}, {{reg, 1}});
}

InvariantReference* ReferenceSearch::accessed(const Instruction& i, std::uint32_t reg) {
  const std::optional<std::uint32_t> array = held_by(reg);
  if (!array) return nullptr;
  loop_.arrays[i.pc] = *array;
  return &loop_.references[*array];
}

std::optional<std::uint32_t> ReferenceSearch::element(const Instruction& i) {
  if (*i.row->kind != bytecode::Kind::kRef || writes_.elements) return std::nullopt;
  std::optional<Place> index = index_sum(i.pc, i.c, 0);
  return index ? taken(i, Origin::kElement, std::move(*index)) : std::nullopt;
}

// The value of the register before the instruction at `pc` of the current block, if it is invariant. StripValues
// computes it.
std::optional<ReferenceSearch::Place> ReferenceSearch::index_sum(std::uint32_t pc, std::uint32_t reg,
                                                                 unsigned depth) const {
  constexpr unsigned kMaximumDepth = 8;
  if (depth > kMaximumDepth) return std::nullopt;
  const std::optional<Instruction> i = flow_.definition(block_, pc, reg);
  if (!i) return writes_.primitives.contains(reg) ? std::nullopt : std::optional<Place>({{reg, 1}});
  if (i->op != Op::kMoveP && i->op != Op::kAddImmI64 && i->op != Op::kAddI64 && i->op != Op::kSubI64)
    return std::nullopt;
  std::optional<Place> sum = index_sum(i->pc, i->b, depth + 1);
  if (!sum || i->op == Op::kMoveP) return sum;
  if (i->op == Op::kAddImmI64) {
    (*sum)[kConstantPart] += static_cast<std::int16_t>(i->c);
  } else {
    const std::optional<Place> right = index_sum(i->pc, i->c, depth + 1);
    if (!right) return std::nullopt;
    for (const auto& [part, factor] : *right) (*sum)[part] += i->op == Op::kAddI64 ? factor : -factor;
  }
  std::erase_if(*sum, [](const auto& part) { return part.second == 0; });
  return sum;
}

std::optional<std::uint32_t> ReferenceSearch::field(const Instruction& i) {
  if (*i.row->kind != bytecode::Kind::kRef || writes_.fields.contains(i.c)) return std::nullopt;
  return taken(i, Origin::kField, {{i.c, 1}});
}

void ReferenceSearch::note_number(const Instruction& i) {
  if (!loop_.counted || *i.row->kind == bytecode::Kind::kRef || writes_.number_fields.contains(i.c)) return;
  if (const std::optional<std::uint32_t> holder = held_by(i.b)) loop_.fields[i.pc] = *holder;
}

std::optional<std::uint32_t> ReferenceSearch::taken(const Instruction& i, Origin origin, Place place) {
  const std::optional<std::uint32_t> parent = held_by(i.b);
  if (!parent) return std::nullopt;
  const InvariantReference reference = {
      .origin = origin, .place = i.c, .parent = *parent, .block = block_, .pc = i.pc};
  return loop_.taken[i.pc] = number_of(reference, std::move(place));
}

void ReferenceSearch::finish() {
  // Parents precede their children.
  for (std::size_t number = loop_.references.size(); number-- > 0;) {
    InvariantReference& reference = loop_.references[number];
    reference.wanted = reference.wanted || reference.read || reference.written || reference.length ||
                       reference.dimensions != 0;
    if (!reference.wanted || reference.origin == InvariantReference::Origin::kRegister) continue;
    InvariantReference& parent = loop_.references[reference.parent];
    parent.wanted = true;
    if (reference.origin == InvariantReference::Origin::kElement) parent.read = true;
  }
  std::erase_if(loop_.taken, [&](const auto& taken) { return !loop_.references[taken.second].wanted; });
}

}  // namespace dhpvm::codegen
