// SPDX-License-Identifier: Apache-2.0
#include "offload/loops/liveness.h"

#include <algorithm>

#include "bytecode/decode.h"

namespace dhpvm::offload {
namespace {

using bytecode::DecodeRow;
using bytecode::Family;
using bytecode::kDecode;
using bytecode::Operand;
using bytecode::Word;

void set(std::vector<std::uint64_t>& bits, std::uint32_t i) { bits[i / 64] |= std::uint64_t{1} << i % 64; }
void clear(std::vector<std::uint64_t>& bits, std::uint32_t i) {
  bits[i / 64] &= ~(std::uint64_t{1} << i % 64);
}

}  // namespace

std::uint32_t branch_target(Word word, std::uint32_t pc) {
  const DecodeRow& row = kDecode[bytecode::op_of(word)];
  if (row.b == Operand::kOff32) return pc + static_cast<std::uint32_t>(bytecode::bc_of(word));
  if (row.c == Operand::kOff)
    return pc + static_cast<std::uint32_t>(static_cast<std::int16_t>(bytecode::c_of(word)));
  return bytecode::kNoIndex;
}

std::uint32_t count_primitives(const std::vector<bytecode::ValueType>& types) {
  return static_cast<std::uint32_t>(
      std::count_if(types.begin(), types.end(), [](const auto& t) { return !t.is_ref(); }));
}

Liveness::Liveness(const bytecode::Module& module, std::uint32_t id) {
  const bytecode::Function& function = module.functions[id];
  const Word* const code = module.code.data() + function.code_offset;
  const std::uint32_t registers = function.primitive_registers;
  std::vector<std::uint32_t> starts;
  for (std::uint32_t pc = 0; pc < function.code_size; pc += kDecode[bytecode::op_of(code[pc])].words) {
    starts.push_back(pc);
    const std::uint32_t target = branch_target(code[pc], pc);
    if (target == bytecode::kNoIndex) continue;
    live_.emplace(target, Set(registers / 64 + 1));
    if (target > pc) continue;
    back_edges_.emplace_back(pc, target);
    headers_.insert(target);
  }
  const std::uint32_t results = count_primitives(function.signature.results);

  for (bool changed = true; changed;) {
    changed = false;
    Set live(registers / 64 + 1);
    for (std::size_t i = starts.size(); i-- > 0;) {
      const std::uint32_t pc = starts[i];
      const Word word = code[pc];
      const DecodeRow& row = kDecode[bytecode::op_of(word)];
      const Word x = row.words == 2 ? code[pc + 1] : 0;
      if ((row.flags & bytecode::kEndsBlock) != 0) std::fill(live.begin(), live.end(), 0);
      if (const std::uint32_t target = branch_target(word, pc); target != bytecode::kNoIndex) {
        const Set& there = live_[target];
        for (std::size_t w = 0; w < live.size(); ++w) live[w] |= there[w];
      }
      const std::uint16_t a = bytecode::a_of(word);
      if (row.writes != 0) clear(live, a);
      if (row.family == Family::kCall) {
        for (std::uint32_t reg = a; reg < registers; ++reg) clear(live, reg);
        const auto& parameters = module.functions[bytecode::c_of(word)].signature.parameters;
        for (std::uint32_t p = count_primitives(parameters); p-- > 0;) set(live, a + p);
      }
      if (row.family == Family::kReturn) {
        for (std::uint32_t reg = 0; reg < results; ++reg) set(live, reg);
      }
      if ((row.reads & bytecode::kInA) != 0) set(live, a);
      if ((row.reads & bytecode::kInB) != 0) set(live, bytecode::b_of(word));
      if ((row.reads & bytecode::kInC) != 0) set(live, bytecode::c_of(word));
      if ((row.reads & bytecode::kInX0) != 0) set(live, bytecode::x0_of(x));
      if ((row.reads & bytecode::kInX1) != 0) set(live, bytecode::x1_of(x));
      if (const auto found = live_.find(pc); found != live_.end() && found->second != live) {
        found->second = live;
        changed = true;
      }
    }
  }
}

bool Liveness::live_at(std::uint32_t pc, std::uint32_t reg) const {
  return (live_.at(pc)[reg / 64] >> reg % 64 & 1) != 0;
}

}  // namespace dhpvm::offload
