// SPDX-License-Identifier: Apache-2.0
// The footprint analysis's knowledge of a kernel's registers: polynomials over atoms, and facts that hold on the path
// to a place in the code. Built once for each kernel; range.h evaluates it for each execution or chunk.
//
// Arithmetic in bytecode wraps, so a polynomial gives the value of a register only modulo 2^64. That suffices: if the
// polynomial's range, computed without wrapping, fits a register, the register holds exactly that number.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

namespace dhpvm::offload {

using AtomId = std::uint32_t;
using PolynomialId = std::uint32_t;
using FactId = std::uint32_t;
constexpr std::uint32_t kNothing = 0xffffffff;

// coefficient * product of atoms; coefficients wrap.
struct Monomial {
  std::vector<AtomId> atoms;  // ascending, a square twice; never empty
  std::int64_t coefficient = 0;
  auto operator<=>(const Monomial&) const = default;
};

struct Polynomial {
  std::int64_t constant = 0;
  std::vector<Monomial> terms;  // ascending by atoms, no coefficient 0
  auto operator<=>(const Polynomial&) const = default;
  bool is_constant() const { return terms.empty(); }
};

enum class AtomKind : std::uint8_t {
  kIndex,      // iteration index `number`
  kScalar,     // captured scalar `number`, the whole register
  kDimension,  // size of dimension `dimension` of captured array `number`
  kLength,     // elements of captured array `number`
  kOpaque,     // some value in [low, high]: loaded, or computed in a way that is not followed
  kElement,  // an integer in [low, high], loaded from captured array `number` at index `first`, where it has as many
             // bytes as `dimension` says
  kWrap,  // `first` wrapped into [low, high], a range of 8, 16 or 32 bits
  kMin,   // of `first` and `second`
  kMax,
  kDivide,     // first / second, as the instruction (towards zero)
  kRemainder,  // its remainder
  kMask,       // first & high, a constant from 0 on
  kShift,      // first >> high, arithmetic, or logical if is_unsigned
  kJoin,       // one of the alternatives
  kInduction,  // changes from iteration to iteration of a sequential loop: begins as `first`, then the
               // alternatives
};

// A value that arrives along one path, and the facts that hold on it.
struct Alternative {
  PolynomialId value = kNothing;  // kNothing: anything
  FactId facts = kNothing;
  // On a back-edge by for.i32 or for.i64: the increased value is below this limit.
  PolynomialId limit = kNothing;
};

// A number that fits an i64.
struct Atom {
  AtomKind kind = AtomKind::kOpaque;
  bool is_unsigned = false;  // kMin to kRemainder, kShift: of operands seen as unsigned
  std::uint32_t number = 0;
  std::uint32_t dimension = 0;
  PolynomialId first = kNothing;  // operands are compared and divided as registers, signed
  PolynomialId second = kNothing;
  std::int64_t low = 0;
  std::int64_t high = 0;
  FactId facts = kNothing;  // kInduction: where the loop is entered; if is_unsigned: where it is computed
  // kInduction: another atom of the same loop that counts by 1 up to a limit, and thereby gives the number of turns.
  AtomId counter = kNothing;
  std::vector<Alternative> alternatives;
};

enum class Relation : std::uint8_t {
  kLess,
  kLessEqual,
  kEqual,
  kNotEqual,
  kLessUnsigned,
  kLessEqualUnsigned
};

// A comparison of two registers as signed 64-bit numbers, unless the relation says otherwise.
struct Comparison {
  Relation relation = Relation::kLess;
  PolynomialId left = kNothing;
  PolynomialId right = kNothing;
  auto operator<=>(const Comparison&) const = default;
};
Comparison negated(const Comparison& comparison);

// Facts form a tree: what is known at a place in the code is the fact learned last on the path to it, and its
// ancestors.
struct Fact {
  FactId parent = kNothing;
  std::uint32_t depth = 0;
  Comparison comparison;
};

// Owns polynomials, atoms and facts. Equal polynomials have equal ids, as have atoms with the same definition.
class Symbols {
 public:
  PolynomialId intern(Polynomial polynomial);
  PolynomialId constant(std::int64_t value) { return intern({value, {}}); }
  PolynomialId of_atom(AtomId atom);
  PolynomialId add(PolynomialId a, PolynomialId b) { return combine(a, b, 1); }
  PolynomialId subtract(PolynomialId a, PolynomialId b) { return combine(a, b, -1); }
  PolynomialId add_constant(PolynomialId a, std::int64_t value);
  // kNothing if the product has too many terms.
  PolynomialId multiply(PolynomialId a, PolynomialId b);

  // A new atom, which equals no other.
  AtomId make(Atom atom);
  // The atom with this definition, which may exist already. Not for kJoin and kInduction: see above.
  AtomId shared(const Atom& atom);
  // The value of `a` wrapped into [low, high].
  PolynomialId wrap(PolynomialId a, std::int64_t low, std::int64_t high);

  FactId assume(FactId facts, const Comparison& comparison);
  // The facts that hold at both places.
  FactId common(FactId a, FactId b) const;

  const Polynomial& polynomial(PolynomialId id) const { return *polynomials_[id]; }
  std::optional<std::int64_t> constant_of(PolynomialId id) const;
  // The atom to which the polynomial is equal, or kNothing.
  AtomId atom_of(PolynomialId id) const;
  const Atom& atom(AtomId id) const { return atoms_[id]; }
  Atom& atom(AtomId id) { return atoms_[id]; }
  std::uint32_t atom_count() const { return static_cast<std::uint32_t>(atoms_.size()); }
  const Fact& fact(FactId id) const { return facts_[id]; }
  std::uint32_t fact_count() const { return static_cast<std::uint32_t>(facts_.size()); }

 private:
  PolynomialId combine(PolynomialId a, PolynomialId b, std::int64_t factor);

  std::map<Polynomial, PolynomialId> ids_;
  std::vector<const Polynomial*> polynomials_;  // keys of ids_
  std::vector<Atom> atoms_;
  using Definition = std::tuple<AtomKind, std::uint32_t, std::uint32_t, PolynomialId, PolynomialId,
                                std::int64_t, std::int64_t>;
  std::map<Definition, AtomId> definitions_;
  std::vector<Fact> facts_;
};

}  // namespace dhpvm::offload
