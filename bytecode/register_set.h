// SPDX-License-Identifier: Apache-2.0
// Sets of registers, and backward dataflow analysis over them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "bytecode/control_flow.h"

namespace dhpvm::bytecode {

// Bit i % 64 of word i / 64 stands for register i.
using RegisterSet = std::vector<std::uint64_t>;

inline bool contains(const RegisterSet& set, std::uint32_t reg) {
  return (set[reg / 64] >> reg % 64 & 1) != 0;
}
inline void insert(RegisterSet& set, std::uint32_t reg) { set[reg / 64] |= std::uint64_t{1} << reg % 64; }
inline void remove(RegisterSet& set, std::uint32_t reg) { set[reg / 64] &= ~(std::uint64_t{1} << reg % 64); }
// Adds the registers of `other`, which has the same size.
inline void unite(RegisterSet& set, const RegisterSet& other) {
  for (std::size_t word = 0; word < set.size(); ++word) set[word] |= other[word];
}

// The live registers at the start and at the end of each block.
struct LiveSets {
  std::vector<RegisterSet> in;
  std::vector<RegisterSet> out;
};

// `step_back(block, live)` updates the set from the end of the block to its start. The registers that are live in a
// block's handler are live at the block's start.
template <typename StepBack>
LiveSets flow_backwards(const std::vector<CodeBlock>& blocks, std::uint32_t registers, StepBack&& step_back) {
  const RegisterSet none(registers / 64 + 1);
  LiveSets sets{std::vector<RegisterSet>(blocks.size(), none), std::vector<RegisterSet>(blocks.size(), none)};
  if (registers == 0) return sets;
  std::vector<bool> dirty(blocks.size(), true);
  for (bool changed = true; changed;) {
    changed = false;
    for (auto number = static_cast<std::uint32_t>(blocks.size()); number-- > 0;) {
      if (!dirty[number]) continue;
      dirty[number] = false;
      const CodeBlock& block = blocks[number];
      for (const std::uint32_t successor : block.successors) unite(sets.out[number], sets.in[successor]);
      RegisterSet live = sets.out[number];
      step_back(number, live);
      if (block.handler != kNoIndex) unite(live, sets.in[block.handler]);
      if (live == sets.in[number]) continue;
      sets.in[number] = std::move(live);
      for (const std::uint32_t predecessor : block.predecessors) dirty[predecessor] = true;
      changed = true;
    }
  }
  return sets;
}

}  // namespace dhpvm::bytecode
