// SPDX-License-Identifier: Apache-2.0
// Which reference registers of a function are still needed at a place in its code: they are read there or later, on
// some path, and not written before. The code generator keeps no others alive across collections, nor does the
// interpreter across full ones.
#pragma once

#include <cstdint>
#include <vector>

#include "bytecode/control_flow.h"
#include "bytecode/module.h"
#include "bytecode/register_set.h"

namespace dhpvm::bytecode {

class ReferenceLiveness {
 public:
  // `module` and `function` must outlive this; the blocks are those of find_blocks().
  ReferenceLiveness(const Module& module, const Function& function, const std::vector<CodeBlock>& blocks);

  // Needed by the instruction at `pc` of block `block`, or later.
  RegisterSet before(std::uint32_t block, std::uint32_t pc) const;
  // Needed later, and not because that instruction will have written it; or by what catches its trap.
  RegisterSet across(std::uint32_t block, std::uint32_t pc) const;
  // Adds what is needed if the instruction at `pc` of block `block` traps, and the trap is caught.
  void add_if_caught(std::uint32_t block, std::uint32_t pc, RegisterSet& live) const;

 private:
  struct Extent {
    std::uint32_t begin;
    std::uint32_t end;
    std::uint32_t handler;  // CodeBlock::handler
  };

  // Takes `live` back from the end of the block to in front of the instruction at `pc`.
  void step_back(std::uint32_t block, std::uint32_t pc, RegisterSet& live) const;

  const Module& module_;
  const Function& function_;
  std::vector<Extent> extents_;  // of the blocks
  LiveSets live_;
};

}  // namespace dhpvm::bytecode
