// SPDX-License-Identifier: Apache-2.0
// Sequential loops inside a kernel: the part of the walk that gives names to what changes in them.
#include <algorithm>
#include <limits>

#include "bytecode/decode.h"
#include "offload/loops/interpretation.h"

namespace dhpvm::offload {

using bytecode::DecodeRow;
using bytecode::Family;
using bytecode::kDecode;
using bytecode::Op;
using bytecode::Word;

// Registers that may have been written since the header was passed last; `narrow` where by 32-bit
// instructions. Refuses loops that are entered elsewhere than at their header, or overlap others: what is
// known at the header, from before the loop, would not hold for all that comes back to it.
std::vector<bool> Interpretation::written_in_loop(const Frame& frame, std::uint32_t header,
                                                  std::vector<bool>& narrow) {
  const bytecode::Function& function = module_.functions[frame.function];
  const Word* const code = module_.code.data() + function.code_offset;
  std::uint32_t last = header;
  for (const auto& [from, to] : frame.liveness->back_edges()) {
    if (to == header) last = std::max(last, from);
  }
  std::vector<bool> written(function.primitive_registers);
  narrow.assign(function.primitive_registers, false);
  for (std::uint32_t pc = 0; pc < function.code_size; pc += kDecode[bytecode::op_of(code[pc])].words) {
    const bool is_inside = pc >= header && pc <= last;
    const std::uint32_t target = branch_target(code[pc], pc);
    if (target != bytecode::kNoIndex && (is_inside ? target < header : target > header && target <= last))
      give_up("it has loops that overlap or are entered in their middle");
    if (!is_inside) continue;
    const DecodeRow& row = kDecode[bytecode::op_of(code[pc])];
    const std::uint16_t a = bytecode::a_of(code[pc]);
    if (row.family == Family::kCall) std::fill(written.begin() + a, written.end(), true);
    if (row.writes == 0) continue;
    written[a] = true;
    const auto op = static_cast<Op>(bytecode::op_of(code[pc]));
    if (op == Op::kForI32 || op == Op::kAddImmI32 || op == Op::kAddI32 || op == Op::kSubI32) narrow[a] = true;
  }
  return written;
}

void Interpretation::enter_loop(Frame& frame, std::uint32_t header, State& state) {
  if (!spend(module_.functions[frame.function].code_size)) return;
  std::vector<bool> narrow_writes;
  const std::vector<bool> written = written_in_loop(frame, header, narrow_writes);
  auto& names = frame.loops[header];
  for (std::size_t reg = 0; reg < state.p.size(); ++reg) {
    Value& value = state.p[reg];
    if (!frame.liveness->live_at(header, static_cast<std::uint32_t>(reg))) {
      if (written[reg]) value = {};
      continue;
    }
    if (!written[reg]) {
      // Its other views are named before the loop too, so that they count as invariant inside.
      if (value.kind == ValueKind::kJoined) value = wide_value(wide(value));
      if (value.kind == ValueKind::kWide || value.kind == ValueKind::kNarrow) {
        signed32(value);
        unsigned32(value);
      }
      continue;
    }
    use_old_value(value);
    if (value.kind == ValueKind::kUnknown) {
      value = {};
      continue;
    }
    const bool is_narrow = narrow_writes[reg];
    Atom atom;
    atom.kind = AtomKind::kInduction;
    atom.low =
        is_narrow ? std::numeric_limits<std::int32_t>::min() : std::numeric_limits<std::int64_t>::min();
    atom.high =
        is_narrow ? std::numeric_limits<std::int32_t>::max() : std::numeric_limits<std::int64_t>::max();
    atom.first = is_narrow ? signed32(value) : wide(value);
    atom.facts = state.facts;
    const AtomId id = symbols_.make(std::move(atom));
    value = is_narrow ? narrow_value(symbols_.of_atom(id)) : wide_value(symbols_.of_atom(id));
    value.zero_extended = !is_narrow;  // the first value may have been made by a 64-bit instruction
    names.emplace_back(static_cast<std::uint16_t>(reg), id);
  }
  // A reference that a loop moves is not followed.
  const bytecode::Function& function = module_.functions[frame.function];
  const Word* const code = module_.code.data() + function.code_offset;
  for (std::uint32_t pc = 0; pc < function.code_size; pc += kDecode[bytecode::op_of(code[pc])].words) {
    if (kDecode[bytecode::op_of(code[pc])].ref_writes != 0) state.r[bytecode::a_of(code[pc])] = kNothing;
  }
}

void Interpretation::take_back_edge(Frame& frame, std::uint32_t header, State& state, std::uint32_t counter,
                                    PolynomialId limit) {
  footprint_.has_inner_loops = true;
  const auto found = frame.loops.find(header);
  if (found == frame.loops.end()) {
    give_up("it has loops that overlap or are entered in their middle");
    return;
  }
  for (std::uint32_t reg = 0; reg < state.p.size(); ++reg) {
    if (state.p[reg].old_of != kNothing && frame.liveness->live_at(header, reg)) use_old_value(state.p[reg]);
  }
  const auto counting =
      std::ranges::find_if(found->second, [&](const auto& name) { return name.first == counter; });
  for (const auto& [reg, atom] : found->second) {
    if (counting != found->second.end() && reg != counter) symbols_.atom(atom).counter = counting->second;
    add_alternative(atom, {state.p[reg], state.facts}, reg == counter ? limit : kNothing, 0);
  }
}

void Interpretation::add_alternative(AtomId atom, const Incoming& incoming, PolynomialId limit,
                                     unsigned depth) {
  constexpr unsigned kMostNested = 8;
  if (incoming.value.kind == ValueKind::kJoined && depth < kMostNested) {
    // One by one each may be a plain step, which together they are not. By copy: joins_ may grow.
    const std::vector<Incoming> all = joins_[incoming.value.id].incoming;
    for (const Incoming& one : all) add_alternative(atom, one, limit, depth + 1);
    return;
  }
  if (!spend(1)) return;
  Alternative alternative;
  alternative.facts = incoming.facts;
  alternative.limit = limit;
  Value value = incoming.value;
  if (value.kind != ValueKind::kUnknown) {
    const bool is_narrow = symbols_.atom(atom).high == std::numeric_limits<std::int32_t>::max();
    alternative.value = is_narrow ? narrow(value) : wide(value);
  }
  symbols_.atom(atom).alternatives.push_back(alternative);
}

void Interpretation::count_up(Frame& frame, State& state, std::uint32_t pc) {
  const Word word = module_.code[module_.functions[frame.function].code_offset + pc];
  Value& counter = state.p[bytecode::a_of(word)];
  Value& bound = state.p[bytecode::b_of(word)];
  PolynomialId limit = kNothing;
  PolynomialId value = kNothing;
  if (static_cast<Op>(bytecode::op_of(word)) == Op::kForI32) {
    limit = signed32(bound);
    counter = narrow_value(symbols_.add_constant(narrow(counter), 1));
    value = wrap32(counter.id);
  } else {
    limit = wide(bound);
    counter = wide_value(value = symbols_.add_constant(wide(counter), 1));
  }
  if (bytecode::a_of(word) == bytecode::b_of(word)) limit = kNothing;
  State again = state;
  if (limit != kNothing) state.facts = symbols_.assume(state.facts, {Relation::kLessEqual, limit, value});
  arrive(frame, pc, branch_target(word, pc), std::move(again), limit);
}

}  // namespace dhpvm::offload
