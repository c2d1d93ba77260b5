// SPDX-License-Identifier: Apache-2.0
#include "offload/loops/range.h"

#include <algorithm>
#include <set>

namespace dhpvm::offload {
namespace {

// Substitutions tried for one bound: enough for three variables with three bounds each.
constexpr int kSubstitutions = 40;
// Facts that count at one place, the ones learned last: the time to digest them grows with their square.
constexpr std::size_t kMostFacts = 32;

}  // namespace

Ranges::Ranges(const Footprint& footprint, const LoopChunk& chunk, bool only_promises)
    : footprint_(footprint),
      symbols_(footprint.symbols),
      chunk_(chunk),
      only_promises_(only_promises),
      ranges_(symbols_.atom_count(), 0, kRegister),
      bounds_(symbols_.atom_count(), 0, {}) {
  // Definitions use atoms with lower numbers, except those of loops, which order themselves.
  for (const AtomId id : footprint.relevant_atoms) evaluate(id);
}

// Atoms whose value is known become part of coefficients, so that `row * columns + column` is affine.
Affine Ranges::affine(PolynomialId id) const {
  const Polynomial& polynomial = symbols_.polynomial(id);
  Affine form = constant_form(polynomial.constant);
  for (const Monomial& monomial : polynomial.terms) {
    Wide coefficient = monomial.coefficient;
    AtomId variable = kNothing;
    Range product = {1, 1};  // of the variables, if there are several
    unsigned variables = 0;
    for (const AtomId atom : monomial.atoms) {
      const Range& range = ranges_[atom];
      if (range.is_single()) {
        coefficient = saturating_multiply(coefficient, range.low);
        continue;
      }
      product = variables == 0 ? range : product * range;
      variable = atom;
      ++variables;
    }
    if (variables == 0) {
      form.add_constant(coefficient);
    } else if (variables > 1) {
      form.rest = form.rest + product * Range{coefficient, coefficient};
    } else if (const std::int32_t equal = bounds_[variable].equal; equal >= 0) {
      form.add(forms_[static_cast<std::size_t>(equal)], coefficient);
    } else {
      form.add_term(variable, coefficient);
    }
  }
  return form;
}

Range Ranges::atom_range(AtomId atom, const Context& context) const {
  for (const auto& [other, range] : context.narrowed) {
    if (other == atom) return range;
  }
  return ranges_[atom];
}

Wide Ranges::greatest_by_atoms(const Affine& form, const Context& context) const {
  Wide sum = saturating_add(form.constant, form.rest.high);
  for (std::uint32_t i = 0; i < form.count; ++i) {
    const Wide coefficient = form.terms[i].coefficient;
    const Range range = atom_range(form.terms[i].atom, context);
    sum = saturating_add(sum, saturating_multiply(coefficient, coefficient > 0 ? range.high : range.low));
  }
  return sum;
}

// Takes the atoms from the last to the first. For each tries, besides its range, what is known of it in terms
// of earlier atoms, so that differences such as `j - i` with j > i come out right. If F >= 0, then form <=
// form + c * F for c >= 0; c is chosen such that the atom cancels.
Wide Ranges::greatest(const Affine& form, const Context& context, int& budget) const {
  if (form.is_unbounded) return kUnbounded;
  Wide best = greatest_by_atoms(form, context);
  if (form.count == 0 || --budget < 0) return best;
  const auto [atom, coefficient] = form.last();
  const Wide magnitude = coefficient < 0 ? -coefficient : coefficient;
  const auto attempt = [&](const Affine& nonnegative) {
    if (nonnegative.count == 0 || nonnegative.last().atom != atom) return;
    const Wide other = nonnegative.last().coefficient;
    const Wide other_magnitude = other < 0 ? -other : other;
    if ((other < 0) == (coefficient < 0) || magnitude % other_magnitude != 0) return;
    Affine next = form;
    next.add(nonnegative, magnitude / other_magnitude);
    best = std::min(best, greatest(next, context, budget));
  };
  for (const std::int32_t index : bounds_[atom].nonnegative) {
    if (index >= 0) attempt(forms_[static_cast<std::size_t>(index)]);
  }
  for (const Affine& nonnegative : context.nonnegative) attempt(nonnegative);
  if (form.count > 1) {
    const Range range = atom_range(atom, context);
    Affine next = form;
    --next.count;
    next.add_constant(saturating_multiply(coefficient, coefficient > 0 ? range.high : range.low));
    best = std::min(best, greatest(next, context, budget));
  }
  return best;
}

Range Ranges::range(const Affine& form, const Context& context) const {
  if (form.is_unbounded) return {};
  int budget = kSubstitutions;
  const Wide high = greatest(form, context, budget);
  budget = kSubstitutions;
  return {-greatest(negated(form), context, budget), high};
}

// The values that a register can hold that is `polynomial` modulo 2^64.
Range Ranges::register_range(PolynomialId polynomial, const Context& context) const {
  const Range exact = range(polynomial, context);
  return exact.fits_register() && !exact.empty() ? exact : kRegister;
}

const Ranges::Context& Ranges::context_of(FactId facts) {
  if (!has_last_ || last_.facts != facts) last_ = make_context(facts);
  has_last_ = true;
  return last_;
}

Ranges::Context Ranges::make_context(FactId facts) const {
  Context context = known_;
  context.facts = facts;
  std::vector<FactId> path;
  for (FactId fact = facts; fact != kNothing && path.size() < kMostFacts; fact = symbols_.fact(fact).parent)
    path.push_back(fact);
  // From the entry on, because what was learned first helps to understand the rest.
  for (std::size_t i = path.size(); i-- > 0 && context.is_reachable;)
    learn(context, symbols_.fact(path[i]).comparison);
  return context;
}

void Ranges::learn(Context& context, const Comparison& comparison) const {
  const Affine left = affine(comparison.left);
  const Affine right = affine(comparison.right);
  // A comparison is about registers: it says nothing about forms that may have wrapped.
  const Range left_range = range(left, context);
  const Range right_range = range(right, context);
  if (left_range.empty() || right_range.empty()) {
    context.is_reachable = false;
    return;
  }
  if (!left_range.fits_register() || !right_range.fits_register()) return;
  learn_quotients(context, left);
  learn_quotients(context, right);
  Affine gap = difference(right, left);
  switch (comparison.relation) {
    case Relation::kEqual:
      learn_nonnegative(context, negated(gap));
      learn_nonnegative(context, gap);
      break;
    case Relation::kNotEqual: {
      const Range between = range(gap, context);
      if (between.low == 0) {
        gap.add_constant(-1);
        learn_nonnegative(context, gap);
      } else if (between.high == 0) {
        gap = negated(gap);
        gap.add_constant(-1);
        learn_nonnegative(context, gap);
      }
      break;
    }
    case Relation::kLessUnsigned:
    case Relation::kLessEqualUnsigned:
      if (right_range.low < 0) return;
      learn_nonnegative(context, left);
      [[fallthrough]];
    case Relation::kLess:
    case Relation::kLessEqual:
      if (comparison.relation == Relation::kLess || comparison.relation == Relation::kLessUnsigned)
        gap.add_constant(-1);
      learn_nonnegative(context, gap);
      break;
  }
  propagate(context);
}

void Ranges::learn_nonnegative(Context& context, const Affine& form) const {
  if (form.is_unbounded) return;
  if (form.count == 0) {
    if (saturating_add(form.constant, form.rest.high) < 0) context.is_reachable = false;
    return;
  }
  context.nonnegative.push_back(form);
}

// So a guard on a row number bounds the position that it was computed from.
void Ranges::learn_quotients(Context& context, const Affine& form) const {
  for (std::uint32_t i = 0; i < form.count; ++i) {
    if (is_family_variable(form.terms[i].atom)) continue;
    const AtomKind kind = symbols_.atom(form.terms[i].atom).kind;
    if (kind != AtomKind::kDivide && kind != AtomKind::kShift) continue;
    for (const std::int32_t index : bounds_[form.terms[i].atom].nonnegative) {
      if (index >= 0) learn_nonnegative(context, forms_[static_cast<std::size_t>(index)]);
    }
  }
}

// Narrows the ranges of single atoms by every form that is known not to be negative.
void Ranges::propagate(Context& context) const {
  for (int pass = 0; pass < 2; ++pass) {
    for (const Affine& form : context.nonnegative) {
      for (std::uint32_t i = 0; i < form.count; ++i) {
        const auto [atom, coefficient] = form.terms[i];
        // coefficient * atom >= -others
        Wide others = saturating_add(form.constant, form.rest.high);
        for (std::uint32_t k = 0; k < form.count; ++k) {
          if (k == i) continue;
          const Range range = atom_range(form.terms[k].atom, context);
          const Wide factor = form.terms[k].coefficient;
          others = saturating_add(others, saturating_multiply(factor, factor > 0 ? range.high : range.low));
        }
        if (others >= kUnbounded) continue;
        if (coefficient > 0)
          narrow(context, atom, {-floor_divide(others, coefficient), kUnbounded});
        else
          narrow(context, atom, {-kUnbounded, floor_divide(others, -coefficient)});
      }
    }
  }
}

void Ranges::narrow(Context& context, AtomId atom, const Range& range) const {
  const auto found =
      std::ranges::find_if(context.narrowed, [&](const auto& known) { return known.first == atom; });
  Range& known = found != context.narrowed.end() ? found->second
                                                 : context.narrowed.emplace_back(atom, ranges_[atom]).second;
  known = {std::max(known.low, range.low), std::min(known.high, range.high)};
  if (known.empty()) context.is_reachable = false;
}

Range Ranges::index(const Access& access, std::uint32_t which) {
  const Context& context = context_of(access.facts);
  const Range exact = range(access.index[which], context);
  if (!context.is_reachable || exact.empty()) return {1, 0};
  return exact.fits_register() ? exact : kRegister;
}

// That index `which` of the access is from 0 on and below `size`, wherever the access is reached.
bool Ranges::is_inside(const Access& access, std::uint32_t which, const Affine& size) {
  // Mostly the ranges of the atoms are enough, and neither the facts nor the atoms' bounds by each other have to be
  // looked at, which takes ten times as long.
  const Affine form = affine(access.index[which]);
  if (!form.is_unbounded && size.count == 0 && greatest_by_atoms(form, known_) < size.constant &&
      greatest_by_atoms(negated(form), known_) <= 0)
    return true;
  const Range range = index(access, which);
  if (range.empty()) return true;
  if (size.count == 0) return range.within(0, size.constant - 1);
  return range.within(0, kMost) && this->range(difference(size, form), context_of(access.facts)).low > 0;
}

bool Ranges::cannot_fail(const Access& access) {
  if (!footprint_.complete) return false;
  const auto is_reached = [&] { return context_of(access.facts).is_reachable; };
  if (access.kind == AccessKind::kLocalRead || access.kind == AccessKind::kLocalWrite)
    return is_inside(access, 0, constant_form(access.local_size));
  if (access.array == kNothing) return !is_reached();
  const auto is_accessible = [&](ArrayNumber which) {
    const Affine elements = size(access.array, which);
    const auto is_whole = [&] {
      return range(difference(elements, size(access.array, ArrayNumber::kLength)), known_).low >= 0;
    };
    return (access.checked_by != kNothing && is_whole()) || is_inside(access, 0, elements);
  };
  switch (access.kind) {
    case AccessKind::kRead: return is_accessible(ArrayNumber::kReadable);
    case AccessKind::kWrite: return is_accessible(ArrayNumber::kWritable);
    case AccessKind::kAtomic:
      return is_accessible(ArrayNumber::kReadable) && is_accessible(ArrayNumber::kWritable);
    // A worker has no data: an empty array is as little null there as here.
    case AccessKind::kLength:
      return range(size(access.array, ArrayNumber::kLength), known_).low >= 0 || !is_reached();
    default: break;
  }
  for (std::uint32_t d = 0; d < access.indices; ++d) {
    if (!is_inside(access, d, size(access.array, dimension_number(d)))) return false;
  }
  return true;
}

bool Ranges::touches(const Access& access, std::uint32_t array, bool written) const {
  const bool counts =
      access.kind == AccessKind::kAtomic || access.kind == (written ? AccessKind::kWrite : AccessKind::kRead);
  return counts && (access.array == array || access.array == kNothing);
}

Elements Ranges::elements(std::uint32_t array, bool written) {
  const Wide last = Wide{chunk_.arrays[array].shape.length} - 1;
  Range all{1, 0};
  Elements result;
  if (!footprint_.complete) {
    all = {0, last};
    result.known = false;
  }
  for (const Access& access : footprint_.accesses) {
    if (!touches(access, array, written)) continue;
    result.known =
        result.known && access.array == array && footprint_.arrays[array].kind != ArrayClass::kScattered;
    const Range range = index(access);
    // An index outside traps and touches nothing.
    all = hull(all, {std::max(range.low, Wide{0}), std::min(range.high, last)});
  }
  if (all.empty()) return result;
  result.begin = static_cast<std::int64_t>(all.low);
  result.end = static_cast<std::int64_t>(all.high + 1);
  return result;
}

std::optional<RowSpan> Ranges::row_span(std::uint32_t array, bool written) {
  if (!footprint_.complete) return std::nullopt;
  RowSpan span;
  for (const Access& access : footprint_.accesses) {
    if (!touches(access, array, written)) continue;
    if (access.array != array) return std::nullopt;
    const Context& context = context_of(access.facts);
    if (!context.is_reachable) continue;
    // The offsets may depend on the row too: their range is over all of them.
    Affine position = affine(access.index[0]);
    if (!range(position, context).fits_register()) return std::nullopt;
    const Wide factor = position.coefficient_of(footprint_.outer_index);
    position.add_term(footprint_.outer_index, -factor);
    if (!span.include({factor, range(position, context)})) return std::nullopt;
  }
  return span;
}

bool RowSpan::include(const RowSpan& other) {
  if (other.offsets.empty()) return true;
  if (!offsets.empty() && stride != other.stride) return false;
  stride = other.stride;
  offsets = hull(offsets, other.offsets);
  return true;
}

bool RowSpan::is_disjoint() const {
  return offsets.empty() || (stride < 0 ? -stride : stride) > offsets.high - offsets.low;
}

bool Ranges::writes_are_disjoint(std::uint32_t array) {
  if (footprint_.complete && chunk_.space.extent(0) <= 1) return true;
  const std::optional<RowSpan> span = row_span(array, true);
  return span && span->is_disjoint();
}

bool Ranges::overwrites(std::uint32_t array) {
  const Elements written = writes(array);
  if (!footprint_.complete || !written.known) return false;
  // One access that every iteration does, at positions that follow each other without gaps, is enough if it
  // comes to all elements that any of them may write; for structures, one for each field.
  std::set<std::uint32_t> fields;
  for (const Access& access : footprint_.accesses) {
    if (access.kind == AccessKind::kWrite && access.array == array && access.always && fills(access, written))
      fields.insert(access.field);
  }
  return !fields.empty() && fields.size() == footprint_.arrays[array].fields;
}

bool Ranges::fills(const Access& access, const Elements& elements) const {
  const Affine position = affine(access.index[0]);
  if (position.is_unbounded || position.rest != Range{0, 0}) return false;
  if (!range(position, known_).within(elements.begin, Wide{elements.end} - 1)) return false;
  // The steps along each dimension, the smallest first: each must be as large as all that the smaller ones cover.
  std::vector<std::pair<Wide, Wide>> steps;
  for (std::uint32_t i = 0; i < position.count; ++i) {
    const Atom& atom = symbols_.atom(position.terms[i].atom);
    if (atom.kind != AtomKind::kIndex) return false;
    const Wide coefficient = position.terms[i].coefficient;
    steps.emplace_back(coefficient < 0 ? -coefficient : coefficient, Wide{chunk_.space.extent(atom.number)});
  }
  std::ranges::sort(steps);
  Wide covered = 1;
  for (const auto& [step, extent] : steps) {
    if (step != covered) return false;
    covered = saturating_multiply(covered, extent);
  }
  return covered == Wide{elements.end} - elements.begin;
}

std::uint32_t first_unproven(const Footprint& footprint, const LoopChunk& chunk) {
  Ranges ranges(footprint, chunk);
  for (std::uint32_t i = 0; i < footprint.accesses.size(); ++i) {
    if (footprint.accesses[i].provable && !ranges.cannot_fail(footprint.accesses[i])) return i;
  }
  return kNothing;
}

}  // namespace dhpvm::offload
