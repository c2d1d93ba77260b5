// SPDX-License-Identifier: Apache-2.0
// The numbers of one chunk, which are constants, and those of a family of executions, which are variables of forms
// where they differ.
#include <algorithm>

#include "offload/loops/range.h"

namespace dhpvm::offload {
namespace {

std::int64_t number_of(const codegen::ArrayShape& shape, ArrayNumber which) {
  switch (which) {
    case ArrayNumber::kReadable: return shape.readable;
    case ArrayNumber::kWritable: return shape.writable;
    case ArrayNumber::kLength: return shape.length;
    default:
      return shape.dims[static_cast<std::size_t>(which) - static_cast<std::size_t>(ArrayNumber::kDimension0)];
  }
}

bool is_variable(const ExecutionFamily& family, std::uint32_t place) {
  const ExecutionFamily::Number& number = family.numbers()[place];
  return number.base == place && !number.is_constant();
}

std::uint32_t count_variables(const ExecutionFamily& family) {
  std::uint32_t count = 0;
  for (std::uint32_t place = 0; place < family.numbers().size(); ++place)
    count += is_variable(family, place) ? 1 : 0;
  return count;
}

}  // namespace

Ranges::Ranges(const Footprint& footprint, const ExecutionFamily& family)
    : footprint_(footprint),
      symbols_(footprint.symbols),
      family_(&family),
      variables_(family.numbers().size(), kNothing),
      ranges_(symbols_.atom_count(), count_variables(family), kRegister),
      bounds_(symbols_.atom_count(), count_variables(family), {}) {
  std::uint32_t count = 0;
  for (std::uint32_t place = 0; place < variables_.size(); ++place) {
    if (!is_variable(family, place)) continue;
    variables_[place] = family_variable(count++);
    const ExecutionFamily::Number& number = family.numbers()[place];
    ranges_[variables_[place]] = {number.least, number.most};
  }
  learn_spaces();
  for (const AtomId id : footprint.relevant_atoms) evaluate(id);
}

// A number of the family as a form.
Affine Ranges::family_number(std::size_t place) const {
  const ExecutionFamily::Number& number = family_->numbers()[place];
  if (number.is_constant()) return constant_form(number.least);
  Affine form = constant_form(number.offset);
  form.add_term(variables_[number.base], number.factor);
  return form;
}

// There is no execution without iterations.
void Ranges::learn_spaces() {
  for (unsigned d = 0; d < footprint_.dimensions; ++d) {
    Affine extent = difference(family_number(2 * d + 1), family_number(2 * d));
    extent.add_constant(-1);
    learn_nonnegative(known_, extent);
  }
  propagate(known_);
  for (const auto& [variable, range] : known_.narrowed) ranges_[variable] = range;
}

void Ranges::follow_index(AtomId id, const Atom& atom) {
  if (family_ == nullptr) {
    ranges_[id] = {chunk_.space.low[atom.number], Wide{chunk_.space.high[atom.number]} - 1};
    return;
  }
  const std::size_t place = std::size_t{2} * atom.number;
  const Affine first = family_number(place);
  Affine last = family_number(place + 1);
  last.add_constant(-1);
  ranges_[id] = {range(first, known_).low, range(last, known_).high};
  if (first.count != 0) learn_nonnegative(known_, difference(atom_form(id), first));
  if (last.count != 0) learn_nonnegative(known_, difference(last, atom_form(id)));
}

void Ranges::follow_number(AtomId id, const Affine& number) {
  ranges_[id] = range(number, known_);
  if (number.count != 0) bounds_[id].equal = keep(number);
}

Affine Ranges::scalar(AtomId id) const {
  if (family_ == nullptr)
    return constant_form(static_cast<std::int64_t>(chunk_.scalars[symbols_.atom(id).number]));
  std::size_t place = std::size_t{2} * footprint_.dimensions;
  for (const AtomId other : footprint_.relevant_atoms) {
    if (other == id) break;
    if (symbols_.atom(other).kind == AtomKind::kScalar) ++place;
  }
  return family_number(place);
}

Affine Ranges::size(std::uint32_t array, ArrayNumber which) const {
  if (family_ == nullptr) return constant_form(number_of(chunk_.arrays[array].shape, which));
  const std::size_t first = place_of_array(family_->numbers().size(), array, footprint_.arrays.size());
  return family_number(first + static_cast<std::size_t>(which));
}

}  // namespace dhpvm::offload
