// SPDX-License-Identifier: Apache-2.0
// The range of each atom, from those before it.
#include <algorithm>
#include <span>

#include "offload/loops/range.h"

namespace dhpvm::offload {
namespace {

Range intersection(const Range& a, const Range& b) {
  return {std::max(a.low, b.low), std::min(a.high, b.high)};
}

// A bound that only follows from the value's width is no promise.
Range by_width(const Range& range, bool only_promises) {
  const bool is_narrow = range.high - range.low <= 0xffff;
  return only_promises && !is_narrow ? kRegister : range;
}

// The least and the greatest of `count` elements from number `first` on.
template <typename Element>
Range extremes(const std::byte* data, std::size_t first, std::size_t count) {
  const std::span elements(reinterpret_cast<const Element*>(data) + first, count);
  const auto [low, high] = std::ranges::minmax(elements);
  return {low, high};
}

}  // namespace

std::int32_t Ranges::keep(const Affine& form) {
  if (form.is_unbounded) return -1;
  forms_.push_back(form);
  return static_cast<std::int32_t>(forms_.size() - 1);
}

void Ranges::evaluate(AtomId id) {
  const Atom& atom = symbols_.atom(id);
  Range& range = ranges_[id];
  switch (atom.kind) {
    case AtomKind::kIndex: follow_index(id, atom); break;
    case AtomKind::kScalar: follow_number(id, scalar(id)); break;
    case AtomKind::kDimension: follow_number(id, size(atom.number, dimension_number(atom.dimension))); break;
    case AtomKind::kLength: follow_number(id, size(atom.number, ArrayNumber::kLength)); break;
    case AtomKind::kOpaque: range = by_width({atom.low, atom.high}, only_promises_); break;
    case AtomKind::kElement: range = range_of_element(atom); break;
    case AtomKind::kWrap: range = range_of_wrap(id, atom); break;
    case AtomKind::kMin:
    case AtomKind::kMax: range = range_of_choice(id, atom); break;
    case AtomKind::kDivide: range = range_of_quotient(id, atom); break;
    case AtomKind::kRemainder: range = range_of_remainder(id, atom); break;
    case AtomKind::kMask: {
      const Range operand = register_range(atom.first, known_);
      range = {0, operand.low >= 0 ? std::min(operand.high, Wide{atom.high}) : Wide{atom.high}};
      break;
    }
    case AtomKind::kShift: range = range_of_shift(id, atom); break;
    case AtomKind::kJoin: range = range_of_join(id, atom); break;
    case AtomKind::kInduction: range = range_of_induction(id, atom); break;
  }
}

// Where the elements can be looked at, and are few, what they are now.
Range Ranges::range_of_element(const Atom& atom) {
  constexpr Wide kMostElements = 4096;
  const Range anything = by_width({atom.low, atom.high}, only_promises_);
  if (atom.number >= 64 || (chunk_.inspectable >> atom.number & 1) == 0) return anything;
  const codegen::KernelArray& array = chunk_.arrays[atom.number];
  // A read beyond the array traps and gives no value.
  const Range inside = intersection(register_range(atom.first, known_), {0, Wide{array.shape.readable} - 1});
  if (inside.empty() || inside.high - inside.low >= kMostElements) return anything;
  const auto first = static_cast<std::size_t>(inside.low);
  const auto count = static_cast<std::size_t>(inside.high - inside.low) + 1;
  const bool is_unsigned = atom.low == 0;
  switch (atom.dimension) {
    case 1:
      return is_unsigned ? extremes<std::uint8_t>(array.data, first, count)
                         : extremes<std::int8_t>(array.data, first, count);
    case 2:
      return is_unsigned ? extremes<std::uint16_t>(array.data, first, count)
                         : extremes<std::int16_t>(array.data, first, count);
    case 4: return extremes<std::int32_t>(array.data, first, count);
    default: return extremes<std::int64_t>(array.data, first, count);
  }
}

Range Ranges::range_of_wrap(AtomId id, const Atom& atom) {
  const Affine form = affine(atom.first);
  const Range inside = range(form, known_);
  const Range allowed{atom.low, atom.high};
  if (inside.within(allowed.low, allowed.high)) {
    bounds_[id].equal = keep(form);
    return inside;
  }
  if (inside.is_single() && inside.fits_register()) {
    const Wide span = allowed.high - allowed.low + 1;
    const Wide value = inside.low - floor_divide(inside.low - allowed.low, span) * span;
    return {value, value};
  }
  return by_width(allowed, only_promises_);
}

Range Ranges::range_of_choice(AtomId id, const Atom& atom) {
  const bool is_min = atom.kind == AtomKind::kMin;
  const PolynomialId operands[2] = {atom.first, atom.second};
  const Context context = atom.is_unsigned ? make_context(atom.facts) : known_;
  Range ranges[2];
  for (int i = 0; i < 2; ++i) {
    ranges[i] = register_range(operands[i], context);
    // As long as neither is negative, it is the same as with signs.
    if (atom.is_unsigned && ranges[i].low < 0) return kRegister;
  }
  for (int i = 0; i < 2; ++i) {
    const Affine form = affine(operands[i]);
    if (!range(form, known_).fits_register()) continue;
    // A minimum is at most each operand, a maximum at least.
    const Affine self = atom_form(id);
    bounds_[id].nonnegative[i] = keep(is_min ? difference(form, self) : difference(self, form));
  }
  if (is_min) return {std::min(ranges[0].low, ranges[1].low), std::min(ranges[0].high, ranges[1].high)};
  return {std::max(ranges[0].low, ranges[1].low), std::max(ranges[0].high, ranges[1].high)};
}

Range Ranges::range_of_quotient(AtomId id, const Atom& atom) {
  const Context context = make_context(atom.facts);
  const Range dividend = register_range(atom.first, context);
  const Range divisor = register_range(atom.second, context);
  if (atom.is_unsigned && (dividend.low < 0 || divisor.low < 0)) return kRegister;
  Range quotient{-dividend.magnitude(), dividend.magnitude()};
  if (divisor.low > 0 || divisor.high < 0) {
    // Monotonic in each operand, so that the corners decide.
    const Wide corners[] = {dividend.low / divisor.low, dividend.low / divisor.high,
                            dividend.high / divisor.low, dividend.high / divisor.high};
    quotient = {*std::min_element(corners, corners + 4), *std::max_element(corners, corners + 4)};
  } else if (dividend.low >= 0 && divisor.low >= 0) {
    quotient.low = 0;  // division by zero traps
  }
  if (divisor.is_single() && divisor.low > 0 && dividend.low >= 0)
    bound_quotient(id, atom, context, divisor.low);
  return quotient.fits_register() ? quotient : kRegister;  // the most negative value / -1 wraps
}

Range Ranges::range_of_shift(AtomId id, const Atom& atom) {
  const Context context = make_context(atom.facts);
  const Range operand = register_range(atom.first, context);
  if (atom.is_unsigned && operand.low < 0)
    return atom.high == 0 ? kRegister : Range{0, (Wide{1} << (64 - atom.high)) - 1};
  bound_quotient(id, atom, context, Wide{1} << atom.high);
  return {operand.low >> atom.high, operand.high >> atom.high};
}

// d = p / c, rounded down: c * d <= p <= c * d + c - 1.
void Ranges::bound_quotient(AtomId id, const Atom& atom, const Context& context, Wide divisor) {
  Affine gap = affine(atom.first);
  if (!range(gap, context).fits_register()) return;
  gap.add_term(id, -divisor);
  bounds_[id].nonnegative[0] = keep(gap);
  gap = negated(gap);
  gap.add_constant(divisor - 1);
  bounds_[id].nonnegative[1] = keep(gap);
}

Range Ranges::range_of_remainder(AtomId id, const Atom& atom) {
  const Context context = make_context(atom.facts);
  const Range dividend = register_range(atom.first, context);
  const Range divisor = register_range(atom.second, context);
  if (atom.is_unsigned && (dividend.low < 0 || divisor.low < 0)) return kRegister;
  if (divisor.low > 0 && dividend.within(0, divisor.low - 1)) {
    const Affine form = affine(atom.first);
    if (range(form, known_).fits_register()) bounds_[id].equal = keep(form);
    return dividend;
  }
  if (divisor.magnitude() == 0) return kRegister;  // traps
  // It has the sign of the dividend.
  const Wide most = divisor.magnitude() - 1;
  return {dividend.low < 0 ? std::max(dividend.low, -most) : Wide{0},
          dividend.high > 0 ? std::min(dividend.high, most) : Wide{0}};
}

Range Ranges::range_of_join(AtomId id, const Atom& atom) {
  const Range allowed{atom.low, atom.high};
  Range all{1, 0};
  unsigned reachable = 0;
  PolynomialId only = kNothing;
  for (const Alternative& alternative : atom.alternatives) {
    const Context context = make_context(alternative.facts);
    if (!context.is_reachable) continue;
    Range one = allowed;
    const Range exact = alternative.value != kNothing ? range(alternative.value, context) : Range{};
    if (exact.empty()) continue;
    ++reachable;
    if (alternative.value != kNothing) {
      if (exact.within(allowed.low, allowed.high)) one = exact;
      only = exact.within(allowed.low, allowed.high) ? alternative.value : kNothing;
    }
    all = hull(all, one == allowed ? by_width(one, only_promises_) : one);
  }
  if (reachable == 1 && only != kNothing) {
    // Within the path's facts the value fits; as a form it may only stand for the atom where it does without
    // them too.
    const Affine form = affine(only);
    if (range(form, known_).within(allowed.low, allowed.high)) bounds_[id].equal = keep(form);
  }
  return all.empty() ? by_width(allowed, only_promises_) : all;
}

// The amount that one turn of the loop adds to the atom; false if it depends on what happens inside.
bool Ranges::steps(AtomId id, const Atom& atom, Range& step) const {
  step = {1, 0};
  for (const Alternative& alternative : atom.alternatives) {
    if (alternative.value == kNothing) return false;
    Affine change = affine(alternative.value);
    change.add_term(id, -1);
    if (change.is_unbounded || uses_from(change, id)) return false;
    step = hull(step, range(change, known_));
  }
  return !step.empty();
}

Range Ranges::range_of_induction(AtomId id, const Atom& atom) {
  const Range allowed{atom.low, atom.high};
  const Range anything = by_width(allowed, only_promises_);
  ranges_[id] = anything;
  if (atom.first == kNothing) return anything;
  const Context entry = make_context(atom.facts);
  if (!entry.is_reachable) return anything;
  const Range first = range(atom.first, entry);
  Range step;
  if (!first.within(allowed.low, allowed.high) || !steps(id, atom, step)) return anything;
  if (follow_counter(id, atom, step)) return ranges_[id];
  if (step.low < 0 && step.high > 0) return anything;
  const bool ascends = step.low >= 0;
  const Range result = induction(id, atom, first, step, ascends);
  if (result == allowed) return anything;
  ranges_[id] = result;
  bound_induction(id, atom, entry, ascends);
  return result;
}

// In a loop that is counted by another atom: first + step * (counter - first of the counter), modulo 2^64,
// and if that fits, exactly.
bool Ranges::follow_counter(AtomId id, const Atom& atom, const Range& step) {
  if (atom.counter == kNothing || atom.alternatives.size() != 1 || !step.is_single()) return false;
  const Atom& counter = symbols_.atom(atom.counter);
  if (counter.alternatives.size() != 1 || counter.first == kNothing) return false;
  if (atom.counter > id) evaluate(atom.counter);
  Range one;
  if (!steps(atom.counter, counter, one) || one != Range{1, 1}) return false;
  Affine form = affine(atom.first);
  form.add_term(atom.counter, step.low);
  form.add(affine(counter.first), -step.low);
  const Range result = range(form, known_);
  if (uses_from(affine(counter.first), std::min(id, atom.counter)) || !result.within(atom.low, atom.high))
    return false;
  bounds_[id].equal = keep(form);
  ranges_[id] = result;
  return true;
}

// An ascending value never goes below its first one, as long as it does not wrap. That it does not is shown
// from the facts at the back-edges, taking for granted that it has not so far.
Range Ranges::induction(AtomId id, const Atom& atom, const Range& first, const Range& step, bool ascends) {
  const Range allowed{atom.low, atom.high};
  ranges_[id] = ascends ? Range{first.low, allowed.high} : Range{allowed.low, first.high};
  Range result = first;
  bool counts = false;
  for (const Alternative& alternative : atom.alternatives) {
    const Context context = make_context(alternative.facts);
    if (!context.is_reachable) continue;
    if (alternative.limit != kNothing) {
      // for.i32 and for.i64 compare the register, wrapped or not: it is below the limit in any case.
      result.high = std::max(result.high, register_range(alternative.limit, context).high - 1);
      counts = true;
      continue;
    }
    const Range next = range(alternative.value, context);
    if (!next.within(allowed.low, allowed.high)) return allowed;
    result = hull(result, next);
  }
  if (counts && (!ascends || result.high + step.high > allowed.high)) return allowed;
  if (ascends) result.low = first.low;
  if (!ascends) result.high = first.high;
  return intersection(result, allowed);
}

// The same in terms of earlier atoms: first <= atom, and atom < limit where the loop's entry guarantees first
// < limit.
void Ranges::bound_induction(AtomId id, const Atom& atom, const Context& entry, bool ascends) {
  const Affine self = atom_form(id);
  const Affine first = affine(atom.first);
  if (!range(first, known_).within(atom.low, atom.high)) return;
  bounds_[id].nonnegative[0] = keep(ascends ? difference(self, first) : difference(first, self));
  if (!ascends || atom.alternatives.size() != 1 || atom.alternatives[0].limit == kNothing) return;
  Affine last = affine(atom.alternatives[0].limit);
  if (uses_from(last, id) || !range(last, known_).fits_register()) return;
  last.add_constant(-1);
  if (range(difference(last, first), entry).low >= 0)
    bounds_[id].nonnegative[1] = keep(difference(last, self));
}

}  // namespace dhpvm::offload
