// SPDX-License-Identifier: Apache-2.0
// Registers as expressions: the part of the walk that is about values.
#include <limits>
#include <utility>

#include "bytecode/decode.h"
#include "offload/loops/interpretation.h"

namespace dhpvm::offload {
namespace {

using bytecode::Op;
using bytecode::Operation;
using bytecode::Word;

constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kHighest = std::numeric_limits<std::int64_t>::max();
constexpr unsigned kMostNestedJoins = 8;

}  // namespace

PolynomialId Interpretation::opaque(std::int64_t low, std::int64_t high) {
  Atom atom;
  atom.low = low;
  atom.high = high;
  return symbols_.of_atom(symbols_.make(std::move(atom)));
}

// The register as 64 bits. Gives an unknown one a name, so that what is learned about it later can be
// remembered.
PolynomialId Interpretation::wide(Value& value) {
  switch (value.kind) {
    case ValueKind::kWide: return value.id;
    case ValueKind::kNarrow:
      if (value.zero_extended) return symbols_.wrap(value.id, 0, std::numeric_limits<std::uint32_t>::max());
      break;
    case ValueKind::kJoined: return joined(value.id, false);
    case ValueKind::kCondition: value.kind = ValueKind::kWide; return value.id = opaque(0, 1);
    case ValueKind::kUnknown: break;
  }
  value.kind = ValueKind::kWide;
  return value.id = opaque(kLowest, kHighest);
}

// The low 32 bits, modulo 2^32.
PolynomialId Interpretation::narrow(Value& value) {
  if (value.kind == ValueKind::kNarrow) return value.id;
  if (value.kind == ValueKind::kJoined) return joined(value.id, true);
  return wide(value);
}

PolynomialId Interpretation::joined(std::uint32_t id, bool narrow_view) {
  const PolynomialId before = narrow_view ? joins_[id].narrow : joins_[id].wide;
  if (before != kNothing) return before;
  Atom atom;
  atom.kind = AtomKind::kJoin;
  atom.low = narrow_view ? std::numeric_limits<std::int32_t>::min() : kLowest;
  atom.high = narrow_view ? std::numeric_limits<std::int32_t>::max() : kHighest;
  // By index and by copy: joins_ may grow while the alternatives are named.
  for (std::size_t i = 0; i < joins_[id].incoming.size() && spend(1); ++i) {
    Incoming incoming = joins_[id].incoming[i];
    Alternative alternative;
    alternative.facts = incoming.facts;
    if (incoming.value.kind != ValueKind::kUnknown)
      alternative.value = narrow_view ? signed32(incoming.value) : wide(incoming.value);
    atom.alternatives.push_back(alternative);
  }
  const PolynomialId named = symbols_.of_atom(symbols_.make(std::move(atom)));
  (narrow_view ? joins_[id].narrow : joins_[id].wide) = named;
  return named;
}

// The result of one computation or comparison, in its register. Each function knows one family of instructions
// and passes on what is not of it.
class Interpretation::Computation {
 public:
  Computation(Interpretation& walk, State& state, Word word)
      : walk_(walk),
        state_(state),
        word_(word),
        immediate_(static_cast<std::int16_t>(bytecode::c_of(word))) {}

  Value result(Op op) {
    switch (op) {
      case Op::kMoveP: return b();
      case Op::kImm: return wide_value(walk_.symbols_.constant(bytecode::bc_of(word_)));
      case Op::kAddI32: return narrow_value(walk_.symbols_.add(walk_.narrow(b()), walk_.narrow(c())));
      case Op::kAddI64: return wide_value(walk_.symbols_.add(walk_.wide(b()), walk_.wide(c())));
      case Op::kSubI32: return narrow_value(walk_.symbols_.subtract(walk_.narrow(b()), walk_.narrow(c())));
      case Op::kSubI64: return wide_value(walk_.symbols_.subtract(walk_.wide(b()), walk_.wide(c())));
      case Op::kMulI32: return product(walk_.narrow(b()), walk_.narrow(c()), Width::kNarrow);
      case Op::kMulI64: return product(walk_.wide(b()), walk_.wide(c()), Width::kWide);
      case Op::kAddImmI32: return narrow_value(walk_.symbols_.add_constant(walk_.narrow(b()), immediate_));
      case Op::kAddImmI64: return wide_value(walk_.symbols_.add_constant(walk_.wide(b()), immediate_));
      case Op::kMulImmI32:
        return product(walk_.narrow(b()), walk_.symbols_.constant(immediate_), Width::kNarrow);
      case Op::kMulImmI64: return product(walk_.wide(b()), walk_.symbols_.constant(immediate_), Width::kWide);
      case Op::kNegI32:
        return narrow_value(walk_.symbols_.subtract(walk_.symbols_.constant(0), walk_.narrow(b())));
      case Op::kNegI64:
        return wide_value(walk_.symbols_.subtract(walk_.symbols_.constant(0), walk_.wide(b())));
      case Op::kNotI32:
        return narrow_value(walk_.symbols_.subtract(walk_.symbols_.constant(-1), walk_.narrow(b())));
      case Op::kNotI64:
        return wide_value(walk_.symbols_.subtract(walk_.symbols_.constant(-1), walk_.wide(b())));
      default: return quotient(op);
    }
  }

 private:
  enum class Width : std::uint8_t { kNarrow, kWide };

  Value quotient(Op op);
  Value extreme(Op op);
  Value shifted(Op op);
  Value extended(Op op);
  Value masked();
  Value shifted_by_register(Op op);
  Value not_bool();
  Value comparison();
  Value product(PolynomialId x, PolynomialId y, Width width);
  Value shifted_left(PolynomialId p, std::int64_t by, Width width);
  PolynomialId atom(AtomKind kind, PolynomialId first, PolynomialId second, std::int64_t high = 0);
  Value seen_as_unsigned(AtomKind kind, PolynomialId second, std::int64_t high);
  Value condition(const Comparison& holds);

  // Operands of the other kinds are no registers.
  Value& b() { return state_.p[bytecode::b_of(word_)]; }
  Value& c() { return state_.p[bytecode::c_of(word_)]; }

  Interpretation& walk_;
  State& state_;
  Word word_;
  std::int64_t immediate_;
};

Value Interpretation::Computation::quotient(Op op) {
  switch (op) {
    case Op::kDivI32: return narrow_value(atom(AtomKind::kDivide, walk_.signed32(b()), walk_.signed32(c())));
    case Op::kDivI64: return wide_value(atom(AtomKind::kDivide, walk_.wide(b()), walk_.wide(c())));
    case Op::kDivU32:
      return narrow_value(atom(AtomKind::kDivide, walk_.unsigned32(b()), walk_.unsigned32(c())));
    case Op::kDivU64: return seen_as_unsigned(AtomKind::kDivide, walk_.wide(c()), 0);
    case Op::kRemI32:
      return narrow_value(atom(AtomKind::kRemainder, walk_.signed32(b()), walk_.signed32(c())));
    case Op::kRemI64: return wide_value(atom(AtomKind::kRemainder, walk_.wide(b()), walk_.wide(c())));
    case Op::kRemU32:
      return narrow_value(atom(AtomKind::kRemainder, walk_.unsigned32(b()), walk_.unsigned32(c())));
    case Op::kRemU64: return seen_as_unsigned(AtomKind::kRemainder, walk_.wide(c()), 0);
    default: return extreme(op);
  }
}

Value Interpretation::Computation::extreme(Op op) {
  switch (op) {
    case Op::kMinI32: return narrow_value(atom(AtomKind::kMin, walk_.signed32(b()), walk_.signed32(c())));
    case Op::kMinI64: return wide_value(atom(AtomKind::kMin, walk_.wide(b()), walk_.wide(c())));
    case Op::kMinU64: return seen_as_unsigned(AtomKind::kMin, walk_.wide(c()), 0);
    case Op::kMinU32: return narrow_value(atom(AtomKind::kMin, walk_.unsigned32(b()), walk_.unsigned32(c())));
    case Op::kMaxI32: return narrow_value(atom(AtomKind::kMax, walk_.signed32(b()), walk_.signed32(c())));
    case Op::kMaxI64: return wide_value(atom(AtomKind::kMax, walk_.wide(b()), walk_.wide(c())));
    case Op::kMaxU64: return seen_as_unsigned(AtomKind::kMax, walk_.wide(c()), 0);
    case Op::kMaxU32: return narrow_value(atom(AtomKind::kMax, walk_.unsigned32(b()), walk_.unsigned32(c())));
    default: return shifted(op);
  }
}

Value Interpretation::Computation::shifted(Op op) {
  switch (op) {
    case Op::kAndImmI64:
      return immediate_ >= 0 ? wide_value(atom(AtomKind::kMask, walk_.wide(b()), kNothing, immediate_))
                             : Value{};
    case Op::kAndI64: return masked();
    case Op::kShlImmI32: return shifted_left(walk_.narrow(b()), immediate_ & 31, Width::kNarrow);
    case Op::kShlImmI64: return shifted_left(walk_.wide(b()), immediate_ & 63, Width::kWide);
    case Op::kShrImmI32:
      return narrow_value(atom(AtomKind::kShift, walk_.signed32(b()), kNothing, immediate_ & 31));
    case Op::kShrImmI64:
      return wide_value(atom(AtomKind::kShift, walk_.wide(b()), kNothing, immediate_ & 63));
    case Op::kShrImmU32:
      return narrow_value(atom(AtomKind::kShift, walk_.unsigned32(b()), kNothing, immediate_ & 31));
    case Op::kShrImmU64: return seen_as_unsigned(AtomKind::kShift, kNothing, immediate_ & 63);
    case Op::kShlI32:
    case Op::kShlI64:
    case Op::kShrI32:
    case Op::kShrI64: return shifted_by_register(op);
    default: return extended(op);
  }
}

Value Interpretation::Computation::extended(Op op) {
  switch (op) {
    case Op::kSignExtend8: return narrow_value(walk_.symbols_.wrap(walk_.narrow(b()), -128, 127));
    case Op::kZeroExtend8: return narrow_value(walk_.symbols_.wrap(walk_.narrow(b()), 0, 255));
    case Op::kSignExtend16: return narrow_value(walk_.symbols_.wrap(walk_.narrow(b()), -32768, 32767));
    case Op::kZeroExtend16: return narrow_value(walk_.symbols_.wrap(walk_.narrow(b()), 0, 65535));
    case Op::kI32ToI64: return wide_value(walk_.signed32(b()));
    case Op::kU32ToU64: return wide_value(walk_.unsigned32(b()));
    case Op::kI64ToI32: return narrow_value(walk_.wide(b()));
    case Op::kNotBool: return not_bool();
    default: return comparison();
  }
}

Value Interpretation::Computation::masked() {
  const PolynomialId left = walk_.wide(b());
  const PolynomialId right = walk_.wide(c());
  const std::optional<std::int64_t> mask = walk_.symbols_.constant_of(right);
  if (mask && *mask >= 0) return wide_value(atom(AtomKind::kMask, left, kNothing, *mask));
  const std::optional<std::int64_t> other = walk_.symbols_.constant_of(left);
  if (other && *other >= 0) return wide_value(atom(AtomKind::kMask, right, kNothing, *other));
  return {};
}

Value Interpretation::Computation::shifted_by_register(Op op) {
  const std::optional<std::int64_t> by = walk_.symbols_.constant_of(walk_.wide(c()));
  if (!by) return {};
  if (op == Op::kShlI32) return shifted_left(walk_.narrow(b()), *by & 31, Width::kNarrow);
  if (op == Op::kShlI64) return shifted_left(walk_.wide(b()), *by & 63, Width::kWide);
  if (op == Op::kShrI32) return narrow_value(atom(AtomKind::kShift, walk_.signed32(b()), kNothing, *by & 31));
  return wide_value(atom(AtomKind::kShift, walk_.wide(b()), kNothing, *by & 63));
}

Value Interpretation::Computation::not_bool() {
  if (b().kind != ValueKind::kCondition) return narrow_value(walk_.opaque(0, 1));
  return condition(negated(walk_.conditions_[b().id]));
}

Value Interpretation::Computation::comparison() {
  const auto holds = walk_.comparison(state_, bytecode::kDecode[bytecode::op_of(word_)], word_);
  if (!holds) return {};
  if (const std::optional<bool> known = walk_.decided(*holds))
    return wide_value(walk_.symbols_.constant(*known ? 1 : 0));
  return condition(*holds);
}

Value Interpretation::Computation::condition(const Comparison& holds) {
  walk_.conditions_.push_back(holds);
  return {ValueKind::kCondition, true, static_cast<std::uint32_t>(walk_.conditions_.size() - 1)};
}

Value Interpretation::Computation::product(PolynomialId x, PolynomialId y, Width width) {
  const PolynomialId p = walk_.symbols_.multiply(x, y);
  if (p == kNothing) return {};
  return width == Width::kNarrow ? narrow_value(p) : wide_value(p);
}

Value Interpretation::Computation::shifted_left(PolynomialId p, std::int64_t by, Width width) {
  return product(p, walk_.symbols_.constant(static_cast<std::int64_t>(std::uint64_t{1} << by)), width);
}

PolynomialId Interpretation::Computation::atom(AtomKind kind, PolynomialId first, PolynomialId second,
                                               std::int64_t high) {
  Atom made;
  made.kind = kind;
  made.first = first;
  made.second = second;
  made.high = high;
  return walk_.symbols_.of_atom(walk_.symbols_.shared(made));
}

// The operand is most often a difference that is known to be positive where it is computed, but not elsewhere.
Value Interpretation::Computation::seen_as_unsigned(AtomKind kind, PolynomialId second, std::int64_t high) {
  Atom made;
  made.kind = kind;
  made.is_unsigned = true;
  made.first = walk_.wide(b());
  made.second = second;
  made.high = high;
  made.facts = state_.facts;
  return wide_value(walk_.symbols_.of_atom(walk_.symbols_.make(std::move(made))));
}

Value Interpretation::computed(State& state, Op op, Word word) {
  return Computation(*this, state, word).result(op);
}

// The operands of a Compare or JumpCompare; nothing for floating-point numbers and other instructions.
std::optional<Comparison> Interpretation::comparison(State& state, const bytecode::DecodeRow& row,
                                                     Word word) {
  const bool is_branch = row.family == bytecode::Family::kJumpCompare;
  if ((!is_branch && row.family != bytecode::Family::kCompare) || is_float(*row.kind)) return std::nullopt;
  const bool is_wide = size_of(*row.kind) == sizeof(std::uint64_t);
  const auto view = [&](Value& value) {
    if (is_wide) return wide(value);
    return is_signed(*row.kind) ? signed32(value) : unsigned32(value);
  };
  const std::uint16_t left = is_branch ? bytecode::a_of(word) : bytecode::b_of(word);
  const std::uint16_t right = is_branch ? bytecode::b_of(word) : bytecode::c_of(word);
  const bool is_immediate = (is_branch ? row.b : row.c) == bytecode::Operand::kImm;
  const PolynomialId x = view(state.p[left]);
  const PolynomialId y =
      is_immediate ? symbols_.constant(static_cast<std::int16_t>(right)) : view(state.p[right]);
  // The views of 32 bits are what they are as 64-bit numbers.
  const bool by_bits = is_wide && !is_signed(*row.kind);
  const Relation less = by_bits ? Relation::kLessUnsigned : Relation::kLess;
  const Relation less_equal = by_bits ? Relation::kLessEqualUnsigned : Relation::kLessEqual;
  switch (row.operation) {
    case Operation::kEq: return Comparison{Relation::kEqual, x, y};
    case Operation::kNe: return Comparison{Relation::kNotEqual, x, y};
    case Operation::kLt: return Comparison{less, x, y};
    case Operation::kLe: return Comparison{less_equal, x, y};
    case Operation::kGt: return Comparison{less, y, x};
    case Operation::kGe: return Comparison{less_equal, y, x};
    default: return std::nullopt;
  }
}

std::optional<bool> Interpretation::decided(const Comparison& comparison) const {
  const std::optional<std::int64_t> x = symbols_.constant_of(comparison.left);
  const std::optional<std::int64_t> y = symbols_.constant_of(comparison.right);
  if (!x || !y) return std::nullopt;
  switch (comparison.relation) {
    case Relation::kLess: return *x < *y;
    case Relation::kLessEqual: return *x <= *y;
    case Relation::kEqual: return *x == *y;
    case Relation::kNotEqual: return *x != *y;
    case Relation::kLessUnsigned: return static_cast<std::uint64_t>(*x) < static_cast<std::uint64_t>(*y);
    case Relation::kLessEqualUnsigned: break;
  }
  return static_cast<std::uint64_t>(*x) <= static_cast<std::uint64_t>(*y);
}

std::optional<FactId> Interpretation::assume(Value& value, bool truth, FactId facts, unsigned depth) {
  if (value.kind == ValueKind::kCondition) {
    const Comparison holds = truth ? conditions_[value.id] : negated(conditions_[value.id]);
    if (const std::optional<bool> known = decided(holds); known && !*known) return std::nullopt;
    return symbols_.assume(facts, holds);
  }
  if (value.kind == ValueKind::kUnknown || !spend(1)) return facts;
  if (value.kind != ValueKind::kJoined || depth >= kMostNestedJoins) {
    const Comparison holds{truth ? Relation::kNotEqual : Relation::kEqual, signed32(value),
                           symbols_.constant(0)};
    if (const std::optional<bool> known = decided(holds); known && !*known) return std::nullopt;
    return symbols_.assume(facts, holds);
  }
  // Where only one of the paths can have led here with this value, what was learned on it holds: `a && b` in
  // a variable.
  std::optional<FactId> only;
  const std::vector<Incoming> all = joins_[value.id].incoming;
  for (Incoming incoming : all) {
    const std::optional<FactId> there = assume(incoming.value, truth, incoming.facts, depth + 1);
    if (!there) continue;
    if (only) return facts;
    only = there;
  }
  if (!only) return std::nullopt;
  const FactId shared = symbols_.common(facts, *only);
  std::vector<Comparison> learned;
  for (FactId fact = *only; fact != shared; fact = symbols_.fact(fact).parent)
    learned.push_back(symbols_.fact(fact).comparison);
  for (std::size_t i = learned.size(); i-- > 0;) facts = symbols_.assume(facts, learned[i]);
  return facts;
}

}  // namespace dhpvm::offload
