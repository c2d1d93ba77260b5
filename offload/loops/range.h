// SPDX-License-Identifier: Apache-2.0
// Evaluates a footprint with the numbers of one execution of a loop, or of one chunk of it: the range of every index,
// which accesses cannot fail, and which elements of each array are read and written.
//
// All arithmetic is exact: 128 bits, and whatever does not fit is unbounded. Where bytecode may wrap, the range is that
// of the register. So a range always contains what the kernel does, but it may be wider.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "codegen/kernel_abi.h"
#include "offload/loops/affine.h"
#include "offload/loops/execution_family.h"
#include "offload/loops/execution_memo.h"
#include "offload/loops/footprint.h"
#include "offload/loops/iteration_space.h"
#include "offload/loops/loop.h"

namespace dhpvm::offload {

// Elements [begin, end) of an array. If `known` is false, any elements of the array.
struct Elements {
  bool known = true;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  bool empty() const { return known && begin >= end; }
  bool operator==(const Elements&) const = default;
};

// Elements that move with the outermost dimension: its index i accesses the elements stride * i + offsets.
struct RowSpan {
  Wide stride = 0;
  Range offsets{1, 0};  // empty: accesses nothing

  // Extends this span by `other`. Returns false, and changes nothing, if the strides differ.
  bool include(const RowSpan& other);
  // Whether no two indices access the same element.
  bool is_disjoint() const;
};

// A value for each variable of forms: the atoms of Symbols, and the variables of a family.
template <typename Known>
class ByAtom {
 public:
  ByAtom(std::uint32_t atoms, std::uint32_t family_variables, Known known)
      : first_(family_variables == 0 ? 0 : family_variables + 1), known_(first_ + atoms, known) {}
  // Family variables are negative numbers modulo 2^32, so the sum wraps to the places before the atoms.
  Known& operator[](AtomId atom) { return known_[atom + first_]; }
  const Known& operator[](AtomId atom) const { return known_[atom + first_]; }

 private:
  std::uint32_t first_;
  std::vector<Known> known_;
};

// Making one takes some microseconds for an ordinary kernel, little enough for every execution of a loop.
class Ranges {
 public:
  // Keeps references to its arguments. With `only_promises`, values of 32 bits and more that depend on data count as
  // unbounded: this shows what can be proven for any data.
  Ranges(const Footprint& footprint, const LoopChunk& chunk, bool only_promises = false);
  // For all executions of the family: only index() and cannot_fail() may be called. Keeps references to its arguments.
  Ranges(const Footprint& footprint, const ExecutionFamily& family);

  // The range of index `which` of an access; empty if the access is never reached.
  Range index(const Access& access, std::uint32_t which = 0);
  // Whether it is proven that this access never fails in the chunk.
  bool cannot_fail(const Access& access);
  // The elements that the chunk may read or write. Atomic updates do both.
  Elements reads(std::uint32_t array) { return elements(array, false); }
  Elements writes(std::uint32_t array) { return elements(array, true); }
  // Whether the chunk, unless it traps, writes every element of writes(array), so that their former values do not
  // matter.
  bool overwrites(std::uint32_t array);
  // Whether no two iterations of the outermost dimension write or update the same element of `array`, so that chunks of
  // it may be computed and copied back independently. The chunk must be the whole iteration space.
  bool writes_are_disjoint(std::uint32_t array);
  // The elements of `array` that iterations of the outermost dimension read, or write if `written`; nothing if they do
  // not move with the outermost index. The chunk must be the whole iteration space.
  std::optional<RowSpan> row_span(std::uint32_t array, bool written);

 private:
  // The facts known at one place in the code, besides the ranges of the atoms.
  struct Context {
    FactId facts = kNothing;
    bool is_reachable = true;
    std::vector<std::pair<AtomId, Range>> narrowed;
    std::vector<Affine> nonnegative;
  };
  // Indices into forms_, or -1.
  struct Bounds {
    std::int32_t equal = -1;                 // the atom always equals this form
    std::int32_t nonnegative[2] = {-1, -1};  // bounds of the atom in terms of earlier ones
  };

  // range_family.cpp: numbers of the chunk, or of the family
  Affine family_number(std::size_t place) const;
  Affine scalar(AtomId id) const;
  Affine size(std::uint32_t array, ArrayNumber which) const;
  void learn_spaces();
  void follow_index(AtomId id, const Atom& atom);
  void follow_number(AtomId id, const Affine& number);

  // range_atoms.cpp: the atoms, in order
  void evaluate(AtomId id);
  Range range_of_element(const Atom& atom);
  Range range_of_wrap(AtomId id, const Atom& atom);
  Range range_of_choice(AtomId id, const Atom& atom);
  Range range_of_quotient(AtomId id, const Atom& atom);
  Range range_of_shift(AtomId id, const Atom& atom);
  void bound_quotient(AtomId id, const Atom& atom, const Context& context, Wide divisor);
  Range range_of_remainder(AtomId id, const Atom& atom);
  Range range_of_join(AtomId id, const Atom& atom);
  Range range_of_induction(AtomId id, const Atom& atom);
  Range induction(AtomId id, const Atom& atom, const Range& first, const Range& step, bool ascends);
  void bound_induction(AtomId id, const Atom& atom, const Context& entry, bool ascends);
  bool steps(AtomId id, const Atom& atom, Range& step) const;
  bool follow_counter(AtomId id, const Atom& atom, const Range& step);
  std::int32_t keep(const Affine& form);

  // range.cpp: forms and what is known of them
  Affine affine(PolynomialId polynomial) const;
  bool uses_from(const Affine& form, AtomId id) const {
    return form.count > 0 && !comes_before(form.last().atom, id);
  }
  Range atom_range(AtomId atom, const Context& context) const;
  // Empty if the facts contradict each other: the code is then not reached.
  Range range(const Affine& form, const Context& context) const;
  Range range(PolynomialId polynomial, const Context& context) const {
    return range(affine(polynomial), context);
  }
  Range register_range(PolynomialId polynomial, const Context& context) const;
  Wide greatest(const Affine& form, const Context& context, int& budget) const;
  Wide greatest_by_atoms(const Affine& form, const Context& context) const;

  const Context& context_of(FactId facts);
  Context make_context(FactId facts) const;
  void learn(Context& context, const Comparison& comparison) const;
  void learn_nonnegative(Context& context, const Affine& form) const;
  void learn_quotients(Context& context, const Affine& form) const;
  void propagate(Context& context) const;
  void narrow(Context& context, AtomId atom, const Range& range) const;

  bool is_inside(const Access& access, std::uint32_t which, const Affine& size);
  bool touches(const Access& access, std::uint32_t array, bool written) const;
  Elements elements(std::uint32_t array, bool written);
  bool fills(const Access& access, const Elements& elements) const;

  const Footprint& footprint_;
  const Symbols& symbols_;
  const LoopChunk chunk_;  // nothing for a family
  const ExecutionFamily* const family_ = nullptr;
  const bool only_promises_ = false;
  std::vector<AtomId> variables_;  // of the family, by the place of the number
  ByAtom<Range> ranges_;           // all registers until an atom has been evaluated
  ByAtom<Bounds> bounds_;
  std::vector<Affine> forms_;
  Context known_;  // everywhere: nothing for a chunk
  Context last_;   // of the place that was asked for last
  bool has_last_ = false;
};

// The first provable access that may fail in `chunk`, as an index into Footprint::accesses, or kNothing. If there is
// none in the whole iteration space, the variant of the kernel without the checks of provable accesses may run.
std::uint32_t first_unproven(const Footprint& footprint, const LoopChunk& chunk);
inline bool holds(const Footprint& footprint, const LoopChunk& chunk) {
  return footprint.complete && first_unproven(footprint, chunk) == kNothing;
}

}  // namespace dhpvm::offload
