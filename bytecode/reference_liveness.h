// SPDX-License-Identifier: Apache-2.0
// Liveness of reference registers: a register is live at a place in the code if some path from there reads it before
// writing it. The code generator keeps only live references across collections; the interpreter does so across full
// ones.
#pragma once

#include <cstdint>
#include <vector>

#include "bytecode/control_flow.h"
#include "bytecode/module.h"
#include "bytecode/register_set.h"

namespace dhpvm::bytecode {

class ReferenceLiveness {
 public:
  // `module` and `function` must outlive this; `blocks` comes from find_blocks().
  ReferenceLiveness(const Module& module, const Function& function, const std::vector<CodeBlock>& blocks);

  // The registers that are live before the instruction at `pc` of block `block`.
  RegisterSet before(std::uint32_t block, std::uint32_t pc) const;
  // Those that are live after it and not written by it, or live where its trap is caught.
  RegisterSet across(std::uint32_t block, std::uint32_t pc) const;
  // Adds the registers that are live in the handler of the instruction at `pc` of block `block`, if it can trap.
  void add_if_caught(std::uint32_t block, std::uint32_t pc, RegisterSet& live) const;

 private:
  struct Extent {
    std::uint32_t begin;
    std::uint32_t end;
    std::uint32_t handler;  // CodeBlock::handler
  };

  // Updates `live` from the end of the block back to the start of the instruction at `pc`.
  void step_back(std::uint32_t block, std::uint32_t pc, RegisterSet& live) const;

  const Module& module_;
  const Function& function_;
  std::vector<Extent> extents_;  // of the blocks
  LiveSets live_;
};

}  // namespace dhpvm::bytecode
