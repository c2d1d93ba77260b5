// SPDX-License-Identifier: Apache-2.0
#include "bytecode/reference_liveness.h"

#include <cstddef>

#include "bytecode/instruction.h"

namespace dhpvm::bytecode {

ReferenceLiveness::ReferenceLiveness(const Module& module, const Function& function,
                                     const std::vector<CodeBlock>& blocks)
    : module_(module), function_(function) {
  for (const CodeBlock& block : blocks) extents_.push_back({block.begin, block.end, block.handler});
  live_ = flow_backwards(
      blocks, function.reference_registers,
      [this](std::uint32_t block, RegisterSet& live) { step_back(block, extents_[block].begin, live); });
}

void ReferenceLiveness::step_back(std::uint32_t block, std::uint32_t pc, RegisterSet& live) const {
  std::vector<Instruction> instructions;
  while (pc < extents_[block].end) {
    instructions.push_back(decode(module_, function_, pc));
    pc = instructions.back().next();
  }
  for (std::size_t at = instructions.size(); at-- > 0;) {
    for_each_reference_write(module_, instructions[at], [&](std::uint32_t reg) { remove(live, reg); });
    for_each_reference_read(module_, function_, instructions[at],
                            [&](std::uint32_t reg) { insert(live, reg); });
  }
}

RegisterSet ReferenceLiveness::before(std::uint32_t block, std::uint32_t pc) const {
  RegisterSet live = live_.out[block];
  step_back(block, pc, live);
  add_if_caught(block, pc, live);
  return live;
}

void ReferenceLiveness::add_if_caught(std::uint32_t block, std::uint32_t pc, RegisterSet& live) const {
  const Extent& extent = extents_[block];
  if (pc != extent.begin || extent.handler == kNoIndex) return;
  unite(live, live_.in[extent.handler]);
}

RegisterSet ReferenceLiveness::across(std::uint32_t block, std::uint32_t pc) const {
  const Instruction instruction = decode(module_, function_, pc);
  RegisterSet live = before(block, instruction.next());
  for_each_reference_write(module_, instruction, [&](std::uint32_t reg) { remove(live, reg); });
  add_if_caught(block, pc, live);
  return live;
}

}  // namespace dhpvm::bytecode
