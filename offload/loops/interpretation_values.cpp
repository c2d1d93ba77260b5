// SPDX-License-Identifier: Apache-2.0
// Registers as expressions: the part of the walk that is about values.
#include <limits>

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

// The result of a computation or comparison, in its register.
Value Interpretation::computed(State& state, Op op, Word word) {
  const std::uint16_t b = bytecode::b_of(word);
  const std::uint16_t c = bytecode::c_of(word);
  const auto immediate = static_cast<std::int64_t>(static_cast<std::int16_t>(c));
  // Operands of the other kinds are no registers.
  const auto B = [&]() -> Value& { return state.p[b]; };
  const auto C = [&]() -> Value& { return state.p[c]; };
  const auto product = [&](PolynomialId x, PolynomialId y, bool is_narrow) {
    const PolynomialId p = symbols_.multiply(x, y);
    if (p == kNothing) return Value{};
    return is_narrow ? narrow_value(p) : wide_value(p);
  };
  const auto atom = [&](AtomKind kind, PolynomialId first, PolynomialId second, std::int64_t high = 0) {
    Atom made;
    made.kind = kind;
    made.first = first;
    made.second = second;
    made.high = high;
    return symbols_.of_atom(symbols_.shared(made));
  };
  // Most often of a difference that is known to be positive where it is computed, but not elsewhere.
  const auto seen_as_unsigned = [&](AtomKind kind, PolynomialId second, std::int64_t high) {
    Atom made;
    made.kind = kind;
    made.is_unsigned = true;
    made.first = wide(B());
    made.second = second;
    made.high = high;
    made.facts = state.facts;
    return wide_value(symbols_.of_atom(symbols_.make(std::move(made))));
  };
  const auto shifted_left = [&](PolynomialId p, std::int64_t by, bool is_narrow) {
    return product(p, symbols_.constant(static_cast<std::int64_t>(std::uint64_t{1} << by)), is_narrow);
  };
  switch (op) {
    case Op::kMoveP: return B();
    case Op::kImm: return wide_value(symbols_.constant(bytecode::bc_of(word)));
    case Op::kAddI32: return narrow_value(symbols_.add(narrow(B()), narrow(C())));
    case Op::kAddI64: return wide_value(symbols_.add(wide(B()), wide(C())));
    case Op::kSubI32: return narrow_value(symbols_.subtract(narrow(B()), narrow(C())));
    case Op::kSubI64: return wide_value(symbols_.subtract(wide(B()), wide(C())));
    case Op::kMulI32: return product(narrow(B()), narrow(C()), true);
    case Op::kMulI64: return product(wide(B()), wide(C()), false);
    case Op::kAddImmI32: return narrow_value(symbols_.add_constant(narrow(B()), immediate));
    case Op::kAddImmI64: return wide_value(symbols_.add_constant(wide(B()), immediate));
    case Op::kMulImmI32: return product(narrow(B()), symbols_.constant(immediate), true);
    case Op::kMulImmI64: return product(wide(B()), symbols_.constant(immediate), false);
    case Op::kNegI32: return narrow_value(symbols_.subtract(symbols_.constant(0), narrow(B())));
    case Op::kNegI64: return wide_value(symbols_.subtract(symbols_.constant(0), wide(B())));
    case Op::kNotI32: return narrow_value(symbols_.subtract(symbols_.constant(-1), narrow(B())));
    case Op::kNotI64: return wide_value(symbols_.subtract(symbols_.constant(-1), wide(B())));
    case Op::kDivI32: return narrow_value(atom(AtomKind::kDivide, signed32(B()), signed32(C())));
    case Op::kDivI64: return wide_value(atom(AtomKind::kDivide, wide(B()), wide(C())));
    case Op::kDivU32: return narrow_value(atom(AtomKind::kDivide, unsigned32(B()), unsigned32(C())));
    case Op::kDivU64: return seen_as_unsigned(AtomKind::kDivide, wide(C()), 0);
    case Op::kRemI32: return narrow_value(atom(AtomKind::kRemainder, signed32(B()), signed32(C())));
    case Op::kRemI64: return wide_value(atom(AtomKind::kRemainder, wide(B()), wide(C())));
    case Op::kRemU32: return narrow_value(atom(AtomKind::kRemainder, unsigned32(B()), unsigned32(C())));
    case Op::kRemU64: return seen_as_unsigned(AtomKind::kRemainder, wide(C()), 0);
    case Op::kMinI32: return narrow_value(atom(AtomKind::kMin, signed32(B()), signed32(C())));
    case Op::kMinI64: return wide_value(atom(AtomKind::kMin, wide(B()), wide(C())));
    case Op::kMinU64: return seen_as_unsigned(AtomKind::kMin, wide(C()), 0);
    case Op::kMinU32: return narrow_value(atom(AtomKind::kMin, unsigned32(B()), unsigned32(C())));
    case Op::kMaxI32: return narrow_value(atom(AtomKind::kMax, signed32(B()), signed32(C())));
    case Op::kMaxI64: return wide_value(atom(AtomKind::kMax, wide(B()), wide(C())));
    case Op::kMaxU64: return seen_as_unsigned(AtomKind::kMax, wide(C()), 0);
    case Op::kMaxU32: return narrow_value(atom(AtomKind::kMax, unsigned32(B()), unsigned32(C())));
    case Op::kAndImmI64:
      return immediate >= 0 ? wide_value(atom(AtomKind::kMask, wide(B()), kNothing, immediate)) : Value{};
    case Op::kAndI64: {
      const PolynomialId left = wide(B());
      const PolynomialId right = wide(C());
      const std::optional<std::int64_t> mask = symbols_.constant_of(right);
      if (mask && *mask >= 0) return wide_value(atom(AtomKind::kMask, left, kNothing, *mask));
      const std::optional<std::int64_t> other = symbols_.constant_of(left);
      if (other && *other >= 0) return wide_value(atom(AtomKind::kMask, right, kNothing, *other));
      return {};
    }
    case Op::kShlImmI32: return shifted_left(narrow(B()), immediate & 31, true);
    case Op::kShlImmI64: return shifted_left(wide(B()), immediate & 63, false);
    case Op::kShrImmI32: return narrow_value(atom(AtomKind::kShift, signed32(B()), kNothing, immediate & 31));
    case Op::kShrImmI64: return wide_value(atom(AtomKind::kShift, wide(B()), kNothing, immediate & 63));
    case Op::kShrImmU32:
      return narrow_value(atom(AtomKind::kShift, unsigned32(B()), kNothing, immediate & 31));
    case Op::kShrImmU64: return seen_as_unsigned(AtomKind::kShift, kNothing, immediate & 63);
    case Op::kShlI32:
    case Op::kShlI64:
    case Op::kShrI32:
    case Op::kShrI64: {
      const std::optional<std::int64_t> by = symbols_.constant_of(wide(C()));
      if (!by) return {};
      if (op == Op::kShlI32) return shifted_left(narrow(B()), *by & 31, true);
      if (op == Op::kShlI64) return shifted_left(wide(B()), *by & 63, false);
      if (op == Op::kShrI32) return narrow_value(atom(AtomKind::kShift, signed32(B()), kNothing, *by & 31));
      return wide_value(atom(AtomKind::kShift, wide(B()), kNothing, *by & 63));
    }
    case Op::kSignExtend8: return narrow_value(symbols_.wrap(narrow(B()), -128, 127));
    case Op::kZeroExtend8: return narrow_value(symbols_.wrap(narrow(B()), 0, 255));
    case Op::kSignExtend16: return narrow_value(symbols_.wrap(narrow(B()), -32768, 32767));
    case Op::kZeroExtend16: return narrow_value(symbols_.wrap(narrow(B()), 0, 65535));
    case Op::kI32ToI64: return wide_value(signed32(B()));
    case Op::kU32ToU64: return wide_value(unsigned32(B()));
    case Op::kI64ToI32: return narrow_value(wide(B()));
    case Op::kNotBool: {
      if (B().kind != ValueKind::kCondition) return narrow_value(opaque(0, 1));
      conditions_.push_back(negated(conditions_[B().id]));
      return {ValueKind::kCondition, true, static_cast<std::uint32_t>(conditions_.size() - 1)};
    }
    default: break;
  }
  if (const auto holds = comparison(state, bytecode::kDecode[bytecode::op_of(word)], word)) {
    if (const std::optional<bool> known = decided(*holds))
      return wide_value(symbols_.constant(*known ? 1 : 0));
    conditions_.push_back(*holds);
    return {ValueKind::kCondition, true, static_cast<std::uint32_t>(conditions_.size() - 1)};
  }
  return {};
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
