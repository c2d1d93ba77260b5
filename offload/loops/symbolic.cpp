// SPDX-License-Identifier: Apache-2.0
#include "offload/loops/symbolic.h"

#include <algorithm>

namespace dhpvm::offload {
namespace {

// Beyond these the analysis would not find anything out anyway.
constexpr std::size_t kMostTerms = 16;
constexpr std::size_t kMostFactors = 5;

std::int64_t wrapping_add(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
std::int64_t wrapping_multiply(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}

// Sorts the terms and adds up those of the same atoms.
void normalise(Polynomial& polynomial) {
  std::vector<Monomial>& terms = polynomial.terms;
  std::sort(terms.begin(), terms.end());
  std::size_t kept = 0;
  for (std::size_t i = 0; i < terms.size();) {
    Monomial sum = std::move(terms[i++]);
    while (i < terms.size() && terms[i].atoms == sum.atoms)
      sum.coefficient = wrapping_add(sum.coefficient, terms[i++].coefficient);
    if (sum.coefficient != 0) terms[kept++] = std::move(sum);
  }
  terms.resize(kept);
}

}  // namespace

Comparison negated(const Comparison& comparison) {
  const auto& [relation, left, right] = comparison;
  switch (relation) {
    case Relation::kLess: return {Relation::kLessEqual, right, left};
    case Relation::kLessEqual: return {Relation::kLess, right, left};
    case Relation::kLessUnsigned: return {Relation::kLessEqualUnsigned, right, left};
    case Relation::kLessEqualUnsigned: return {Relation::kLessUnsigned, right, left};
    case Relation::kEqual: return {Relation::kNotEqual, left, right};
    case Relation::kNotEqual: break;
  }
  return {Relation::kEqual, left, right};
}

PolynomialId Symbols::intern(Polynomial polynomial) {
  const auto next = static_cast<PolynomialId>(polynomials_.size());
  const auto [found, is_new] = ids_.emplace(std::move(polynomial), next);
  if (is_new) polynomials_.push_back(&found->first);
  return found->second;
}

PolynomialId Symbols::of_atom(AtomId atom) { return intern({0, {{{atom}, 1}}}); }

PolynomialId Symbols::combine(PolynomialId a, PolynomialId b, std::int64_t factor) {
  Polynomial sum = polynomial(a);
  const Polynomial& other = polynomial(b);
  sum.constant = wrapping_add(sum.constant, wrapping_multiply(other.constant, factor));
  for (Monomial term : other.terms) {
    term.coefficient = wrapping_multiply(term.coefficient, factor);
    sum.terms.push_back(std::move(term));
  }
  normalise(sum);
  return intern(std::move(sum));
}

PolynomialId Symbols::add_constant(PolynomialId a, std::int64_t value) {
  Polynomial sum = polynomial(a);
  sum.constant = wrapping_add(sum.constant, value);
  return intern(std::move(sum));
}

PolynomialId Symbols::multiply(PolynomialId a, PolynomialId b) {
  const Polynomial& left = polynomial(a);
  const Polynomial& right = polynomial(b);
  Polynomial product{wrapping_multiply(left.constant, right.constant), {}};
  const auto append = [&](std::vector<AtomId> atoms, std::int64_t coefficient) {
    product.terms.push_back({std::move(atoms), coefficient});
  };
  for (const Monomial& x : left.terms) append(x.atoms, wrapping_multiply(x.coefficient, right.constant));
  for (const Monomial& y : right.terms) append(y.atoms, wrapping_multiply(y.coefficient, left.constant));
  for (const Monomial& x : left.terms) {
    for (const Monomial& y : right.terms) {
      std::vector<AtomId> atoms(x.atoms.size() + y.atoms.size());
      std::merge(x.atoms.begin(), x.atoms.end(), y.atoms.begin(), y.atoms.end(), atoms.begin());
      if (atoms.size() > kMostFactors) return kNothing;
      append(std::move(atoms), wrapping_multiply(x.coefficient, y.coefficient));
    }
  }
  normalise(product);
  if (product.terms.size() > kMostTerms) return kNothing;
  return intern(std::move(product));
}

AtomId Symbols::make(Atom atom) {
  atoms_.push_back(std::move(atom));
  return static_cast<AtomId>(atoms_.size() - 1);
}

AtomId Symbols::shared(const Atom& atom) {
  const Definition definition{atom.kind,   atom.number, atom.dimension, atom.first,
                              atom.second, atom.low,    atom.high};
  const auto [found, is_new] = definitions_.emplace(definition, atom_count());
  if (is_new) make(atom);
  return found->second;
}

PolynomialId Symbols::wrap(PolynomialId a, std::int64_t low, std::int64_t high) {
  if (const std::optional<std::int64_t> value = constant_of(a)) {
    // The ranges are those of 2^n values, so that the low bits decide.
    const auto span = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
    const std::uint64_t offset =
        (static_cast<std::uint64_t>(*value) - static_cast<std::uint64_t>(low)) & span;
    return constant(static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + offset));
  }
  if (const AtomId atom = atom_of(a); atom != kNothing) {
    const Atom& inside = atoms_[atom];
    const bool bounded = inside.kind == AtomKind::kOpaque || inside.kind == AtomKind::kElement ||
                         inside.kind == AtomKind::kWrap || inside.kind == AtomKind::kJoin ||
                         inside.kind == AtomKind::kInduction;
    if (bounded && inside.low >= low && inside.high <= high) return a;
  }
  Atom wrapped;
  wrapped.kind = AtomKind::kWrap;
  wrapped.first = a;
  wrapped.low = low;
  wrapped.high = high;
  return of_atom(shared(wrapped));
}

FactId Symbols::assume(FactId facts, const Comparison& comparison) {
  // Comparisons of constants were decided elsewhere or say nothing about a variable.
  if (polynomial(comparison.left).is_constant() && polynomial(comparison.right).is_constant()) return facts;
  const std::uint32_t depth = facts == kNothing ? 1 : facts_[facts].depth + 1;
  facts_.push_back({facts, depth, comparison});
  return static_cast<FactId>(facts_.size() - 1);
}

FactId Symbols::common(FactId a, FactId b) const {
  while (a != b) {
    if (a == kNothing || b == kNothing) return kNothing;
    const std::uint32_t depth_a = facts_[a].depth;
    const std::uint32_t depth_b = facts_[b].depth;
    if (depth_a >= depth_b) a = facts_[a].parent;
    if (depth_b >= depth_a) b = facts_[b].parent;
  }
  return a;
}

std::optional<std::int64_t> Symbols::constant_of(PolynomialId id) const {
  const Polynomial& p = polynomial(id);
  if (!p.is_constant()) return std::nullopt;
  return p.constant;
}

AtomId Symbols::atom_of(PolynomialId id) const {
  const Polynomial& p = polynomial(id);
  const bool is_atom =
      p.constant == 0 && p.terms.size() == 1 && p.terms[0].coefficient == 1 && p.terms[0].atoms.size() == 1;
  return is_atom ? p.terms[0].atoms[0] : kNothing;
}

}  // namespace dhpvm::offload
