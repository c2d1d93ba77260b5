// SPDX-License-Identifier: Apache-2.0
// Instructions on arrays: the part of the walk that records accesses.
#include <algorithm>
#include <limits>

#include "bytecode/decode.h"
#include "bytecode/field_place.h"
#include "offload/loops/interpretation.h"

namespace dhpvm::offload {
namespace {

using bytecode::DecodeRow;
using bytecode::Family;
using bytecode::kDecode;
using bytecode::Word;

// The values that a load may give, as extended to a register; nothing for floating-point numbers.
std::optional<std::pair<std::int64_t, std::int64_t>> range_of(bytecode::Kind kind) {
  if (is_float(kind)) return std::nullopt;
  // Registers of 32 bits are signed: an i32 is what is known of a u32.
  const unsigned bits = 8 * size_of(kind);
  if (bits < 32 && !is_signed(kind)) return {{0, (std::int64_t{1} << bits) - 1}};
  const std::int64_t high = std::numeric_limits<std::int64_t>::max() >> (64 - bits);
  return {{-high - 1, high}};
}

}  // namespace

Access& Interpretation::add_access(const Frame& frame, const State& state, std::uint32_t pc,
                                   AccessKind kind) {
  Access& access = footprint_.accesses.emplace_back();
  access.kind = kind;
  access.chain = frame.chain;
  access.function = frame.function;
  access.pc = module_.functions[frame.function].code_offset + pc;
  access.facts = state.facts;
  access.always = frame.always_passes(pc);
  return access;
}

void Interpretation::use_old_value(const Value& value) {
  if (value.old_of != kNothing) footprint_.accesses[value.old_of].old_value_used = true;
}

void Interpretation::access(Frame& frame, State& state, std::uint32_t pc) {
  const bytecode::Function& function = module_.functions[frame.function];
  const Word* const code = module_.code.data() + function.code_offset;
  const Word word = code[pc];
  const DecodeRow& row = kDecode[bytecode::op_of(word)];
  const Word x = row.words == 2 ? code[pc + 1] : 0;
  const std::uint16_t a = bytecode::a_of(word);
  const std::uint16_t b = bytecode::b_of(word);
  const std::uint16_t c = bytecode::c_of(word);
  const bool stores = row.memory == bytecode::Memory::kWritesElement;
  const auto number = static_cast<std::uint32_t>(footprint_.accesses.size());
  // Each has to be looked at for every execution: more than some two thousand would take milliseconds then.
  constexpr std::size_t kCost = 2000;
  if (!spend(kCost)) return;

  if (row.family == Family::kLocalZero) return;
  if (row.family == Family::kLocalLoad || row.family == Family::kLocalStore) {
    const bool is_load = row.family == Family::kLocalLoad;
    Access& access = add_access(frame, state, pc, is_load ? AccessKind::kLocalRead : AccessKind::kLocalWrite);
    access.array = is_load ? b : a;
    access.local_size = function.locals[access.array].count;
    access.index[0] = wide(state.p[is_load ? c : b]);
  } else if (row.family == Family::kArrayLength || row.family == Family::kArrayDim) {
    Access& access = add_access(frame, state, pc, AccessKind::kLength);
    access.array = state.r[b];
    access.indices = 0;
  } else if (row.family == Family::kIndex) {
    Access& access = add_access(frame, state, pc, AccessKind::kIndex);
    access.array = state.r[b];
    access.indices = row.x == bytecode::Operand::kPP ? 3 : 2;
    access.index[0] = wide(state.p[c]);
    access.index[1] = wide(state.p[bytecode::x0_of(x)]);
    if (access.indices == 3) access.index[2] = wide(state.p[bytecode::x1_of(x)]);
  } else {
    const bool is_atomic = row.memory == bytecode::Memory::kUpdatesElement;
    const AccessKind kind = stores ? AccessKind::kWrite : is_atomic ? AccessKind::kAtomic : AccessKind::kRead;
    Access& access = add_access(frame, state, pc, kind);
    access.array = state.r[stores ? a : b];
    Value& index = state.p[stores ? b : c];
    access.index[0] = wide(index);
    if (const auto field = bytecode::field_place(row.family, row.x, x)) access.field = field->offset;
    if (index.index_check != kNothing && footprint_.accesses[index.index_check].array == access.array &&
        access.array != kNothing)
      access.checked_by = index.index_check;
  }

  if (row.writes != 0) state.p[a] = result_of(number, row, c);
}

Value Interpretation::result_of(std::uint32_t number, const DecodeRow& row, std::uint16_t dimension) {
  Value result;
  const Access& access = footprint_.accesses[number];
  if (access.kind == AccessKind::kLength && access.array != kNothing) {
    Atom atom;
    atom.kind = row.family == Family::kArrayDim ? AtomKind::kDimension : AtomKind::kLength;
    atom.number = access.array;
    atom.dimension = row.family == Family::kArrayDim ? dimension : 0;
    result = wide_value(symbols_.of_atom(symbols_.shared(atom)));
  } else if (access.kind == AccessKind::kIndex && access.array != kNothing) {
    Atom atom;
    atom.kind = AtomKind::kDimension;
    atom.number = access.array;
    PolynomialId position = access.index[0];
    for (std::uint32_t d = 1; d < access.indices && position != kNothing; ++d) {
      atom.dimension = d;
      position = symbols_.multiply(position, symbols_.of_atom(symbols_.shared(atom)));
      if (position != kNothing) position = symbols_.add(position, access.index[d]);
    }
    if (position != kNothing) result = wide_value(position);
    if (position == kNothing) result = wide_value(opaque(0, std::numeric_limits<std::int64_t>::max()));
    result.index_check = number;
  } else if (const auto range = range_of(*row.kind)) {
    PolynomialId loaded = kNothing;
    if (access.kind == AccessKind::kRead && access.array != kNothing &&
        row.x != bytecode::Operand::kElement) {
      Atom atom;
      atom.kind = AtomKind::kElement;
      atom.number = access.array;
      atom.dimension = size_of(*row.kind);
      atom.first = access.index[0];
      atom.low = range->first;
      atom.high = range->second;
      loaded = symbols_.of_atom(symbols_.make(atom));
    } else {
      loaded = opaque(range->first, range->second);
    }
    const bool is_wide = range->second == std::numeric_limits<std::int64_t>::max();
    result = is_wide ? wide_value(loaded) : narrow_value(loaded);
    if (access.kind == AccessKind::kAtomic) result.old_of = number;
  } else if (access.kind == AccessKind::kAtomic) {
    result.old_of = number;
  }
  return result;
}

}  // namespace dhpvm::offload
