// SPDX-License-Identifier: Apache-2.0
#include "bytecode/reference_liveness.h"

#include <cstddef>
#include <utility>

#include "bytecode/instruction.h"

namespace dhpvm::bytecode {
namespace {

void insert(RegisterSet& set, std::uint32_t reg) { set[reg / 64] |= std::uint64_t{1} << reg % 64; }
void erase(RegisterSet& set, std::uint32_t reg) { set[reg / 64] &= ~(std::uint64_t{1} << reg % 64); }

}  // namespace

ReferenceLiveness::ReferenceLiveness(const Module& module, const Function& function,
                                     const std::vector<CodeBlock>& blocks)
    : module_(module), function_(function) {
  const RegisterSet none(function.reference_registers / 64 + 1);
  for (const CodeBlock& block : blocks) extents_.push_back({block.begin, block.end, block.handler});
  live_out_.assign(blocks.size(), none);
  live_in_.assign(blocks.size(), none);
  if (function.reference_registers == 0) return;
  std::vector<bool> dirty(blocks.size(), true);
  for (bool changed = true; changed;) {
    changed = false;
    for (auto number = static_cast<std::uint32_t>(blocks.size()); number-- > 0;) {
      if (!dirty[number]) continue;
      dirty[number] = false;
      RegisterSet& out = live_out_[number];
      for (const std::uint32_t successor : blocks[number].successors) {
        for (std::size_t word = 0; word < out.size(); ++word) out[word] |= live_in_[successor][word];
      }
      RegisterSet live = out;
      step_back(number, blocks[number].begin, live);
      add_if_caught(number, blocks[number].begin, live);
      if (live == live_in_[number]) continue;
      live_in_[number] = std::move(live);
      for (const std::uint32_t predecessor : blocks[number].predecessors) dirty[predecessor] = true;
      changed = true;
    }
  }
}

void ReferenceLiveness::step_back(std::uint32_t block, std::uint32_t pc, RegisterSet& live) const {
  std::vector<Instruction> instructions;
  while (pc < extents_[block].end) {
    instructions.push_back(decode(module_, function_, pc));
    pc = instructions.back().next();
  }
  for (std::size_t at = instructions.size(); at-- > 0;) {
    for_each_reference_write(module_, instructions[at], [&](std::uint32_t reg) { erase(live, reg); });
    for_each_reference_read(module_, function_, instructions[at],
                            [&](std::uint32_t reg) { insert(live, reg); });
  }
}

RegisterSet ReferenceLiveness::before(std::uint32_t block, std::uint32_t pc) const {
  RegisterSet live = live_out_[block];
  step_back(block, pc, live);
  add_if_caught(block, pc, live);
  return live;
}

void ReferenceLiveness::add_if_caught(std::uint32_t block, std::uint32_t pc, RegisterSet& live) const {
  const Extent& extent = extents_[block];
  if (pc != extent.begin || extent.handler == kNoIndex) return;
  for (std::size_t word = 0; word < live.size(); ++word) live[word] |= live_in_[extent.handler][word];
}

RegisterSet ReferenceLiveness::across(std::uint32_t block, std::uint32_t pc) const {
  const Instruction instruction = decode(module_, function_, pc);
  RegisterSet live = before(block, instruction.next());
  for_each_reference_write(module_, instruction, [&](std::uint32_t reg) { erase(live, reg); });
  add_if_caught(block, pc, live);
  return live;
}

}  // namespace dhpvm::bytecode
