// SPDX-License-Identifier: Apache-2.0
#include "offload/loops/affine.h"

namespace dhpvm::offload {
namespace {

bool is_small(Wide value) { return value >= kLeast && value <= kMost; }
Wide clamp(Wide value) { return std::clamp(value, -kUnbounded, kUnbounded); }
bool is_finite(Wide value) { return value > -kUnbounded && value < kUnbounded; }

}  // namespace

// Neither operand is beyond kUnbounded, so that 128 bits always hold the sum.
Wide saturating_add(Wide a, Wide b) { return clamp(a + b); }

Wide saturating_multiply(Wide a, Wide b) {
  if (is_small(a) && is_small(b)) return clamp(a * b);
  if (a == 0 || b == 0) return 0;
  const Wide magnitude = b < 0 ? -b : b;
  const Wide most = kUnbounded / magnitude;
  if (a > most || a < -most) return (a < 0) == (b < 0) ? kUnbounded : -kUnbounded;
  return a * b;
}

Wide floor_divide(Wide value, Wide divisor) {
  if (is_small(value) && is_small(divisor) && value != kLeast) {
    const auto a = static_cast<std::int64_t>(value);
    const auto b = static_cast<std::int64_t>(divisor);
    return a / b - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
  }
  const Wide quotient = value / divisor;
  return quotient - ((quotient * divisor != value && (value < 0) != (divisor < 0)) ? 1 : 0);
}

Range operator+(const Range& a, const Range& b) {
  return {saturating_add(a.low, b.low), saturating_add(a.high, b.high)};
}

Range operator*(const Range& a, const Range& b) {
  const Wide corners[] = {saturating_multiply(a.low, b.low), saturating_multiply(a.low, b.high),
                          saturating_multiply(a.high, b.low), saturating_multiply(a.high, b.high)};
  return {*std::min_element(corners, corners + 4), *std::max_element(corners, corners + 4)};
}

Range hull(const Range& a, const Range& b) {
  if (a.empty()) return b;
  if (b.empty()) return a;
  return {std::min(a.low, b.low), std::max(a.high, b.high)};
}

void Affine::add_constant(Wide value) {
  constant = saturating_add(constant, value);
  if (!is_finite(constant)) is_unbounded = true;
}

void Affine::add_term(AtomId atom, Wide coefficient) {
  std::uint32_t at = count;
  while (at > 0 && !comes_before(terms[at - 1].atom, atom)) --at;
  if (at < count && terms[at].atom == atom) {
    terms[at].coefficient = saturating_add(terms[at].coefficient, coefficient);
    if (!is_finite(terms[at].coefficient)) is_unbounded = true;
    if (terms[at].coefficient == 0) {
      std::copy(terms.begin() + at + 1, terms.begin() + count, terms.begin() + at);
      --count;
    }
    return;
  }
  if (coefficient == 0) return;
  if (count == kMostTerms || !is_finite(coefficient)) {
    is_unbounded = true;
    return;
  }
  std::copy_backward(terms.begin() + at, terms.begin() + count, terms.begin() + count + 1);
  terms[at] = {atom, coefficient};
  ++count;
}

void Affine::add(const Affine& other, Wide factor) {
  is_unbounded = is_unbounded || other.is_unbounded;
  if (is_unbounded) return;
  add_constant(saturating_multiply(other.constant, factor));
  if (other.rest != Range{0, 0}) rest = rest + other.rest * Range{factor, factor};
  for (std::uint32_t i = 0; i < other.count; ++i)
    add_term(other.terms[i].atom, saturating_multiply(other.terms[i].coefficient, factor));
}

Wide Affine::coefficient_of(AtomId atom) const {
  for (std::uint32_t i = 0; i < count; ++i) {
    if (terms[i].atom == atom) return terms[i].coefficient;
  }
  return 0;
}

Affine negated(const Affine& affine) {
  Affine result;
  result.add(affine, -1);
  return result;
}

Affine difference(const Affine& a, const Affine& b) {
  Affine result = a;
  result.add(b, -1);
  return result;
}

Affine constant_form(Wide value) {
  Affine result;
  result.constant = value;
  return result;
}

Affine atom_form(AtomId atom) {
  Affine result;
  result.add_term(atom, 1);
  return result;
}

}  // namespace dhpvm::offload
