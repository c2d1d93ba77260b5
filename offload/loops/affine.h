// SPDX-License-Identifier: Apache-2.0
// The arithmetic of range.h: 128-bit numbers that saturate at "unbounded", ranges of them, and affine forms.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>

#include "offload/loops/symbolic.h"

namespace dhpvm::offload {

__extension__ using Wide = __int128;
constexpr Wide kUnbounded = Wide{1} << 120;
constexpr Wide kLeast = std::numeric_limits<std::int64_t>::min();
constexpr Wide kMost = std::numeric_limits<std::int64_t>::max();

Wide saturating_add(Wide a, Wide b);
Wide saturating_multiply(Wide a, Wide b);
// Rounded down; `divisor` is not 0.
Wide floor_divide(Wide value, Wide divisor);

// All numbers from `low` to `high`, both included; empty when low > high.
struct Range {
  Wide low = -kUnbounded;
  Wide high = kUnbounded;
  bool empty() const { return low > high; }
  // An empty range is within nothing.
  bool within(Wide least, Wide greatest) const { return !empty() && low >= least && high <= greatest; }
  bool fits_register() const { return within(kLeast, kMost); }
  bool is_single() const { return low == high; }
  Wide magnitude() const { return std::max(low < 0 ? -low : low, high < 0 ? -high : high); }
  bool operator==(const Range&) const = default;
};
constexpr Range kRegister{kLeast, kMost};
Range operator+(const Range& a, const Range& b);
Range operator*(const Range& a, const Range& b);
Range hull(const Range& a, const Range& b);

// The variables of a form are atoms of Symbols, and the numbers that differ between the executions of a family. The
// latter have no atoms. They come before all atoms, so that whatever depends on them is expressed by them. Numbering
// begins at -2, because -1 is kNothing.
constexpr AtomId family_variable(std::uint32_t which) { return kNothing - 1 - which; }
constexpr bool is_family_variable(AtomId atom) { return atom >= AtomId{1} << 31; }
constexpr bool comes_before(AtomId a, AtomId b) {
  return static_cast<std::int32_t>(a) < static_cast<std::int32_t>(b);
}

// constant + sum of coefficient * atom + some number in `rest`. A form that gets more than kMostTerms terms, or too
// large a number, becomes unbounded, and stays unbounded.
struct Affine {
  static constexpr std::uint32_t kMostTerms = 8;
  struct Term {
    AtomId atom;
    Wide coefficient;
  };
  Affine() = default;
  // Copies only the terms in use: forms are copied often, and most have one or two terms.
  Affine(const Affine& other)
      : count(other.count), is_unbounded(other.is_unbounded), constant(other.constant), rest(other.rest) {
    std::copy_n(other.terms.begin(), count, terms.begin());
  }
  Affine& operator=(const Affine& other) {
    std::copy_n(other.terms.begin(), other.count, terms.begin());
    count = other.count;
    is_unbounded = other.is_unbounded;
    constant = other.constant;
    rest = other.rest;
    return *this;
  }

  std::array<Term, kMostTerms> terms;  // in the order of comes_before(), the first `count`
  std::uint32_t count = 0;
  bool is_unbounded = false;
  Wide constant = 0;
  Range rest = {0, 0};

  void add_constant(Wide value);
  void add_term(AtomId atom, Wide coefficient);
  // *this += factor * other
  void add(const Affine& other, Wide factor);
  Wide coefficient_of(AtomId atom) const;
  // The term whose atom comes last. Requires count > 0.
  const Term& last() const { return terms[count - 1]; }
};
Affine negated(const Affine& affine);
Affine difference(const Affine& a, const Affine& b);
Affine constant_form(Wide value);
Affine atom_form(AtomId atom);

}  // namespace dhpvm::offload
