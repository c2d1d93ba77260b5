// SPDX-License-Identifier: Apache-2.0
// The control-flow graph of one function: the basic blocks that are reachable, which alone are verified.
#pragma once

#include <cstdint>
#include <vector>

#include "bytecode/module.h"

namespace dhpvm::bytecode {

struct CodeBlock {
  std::uint32_t begin = 0;  // word offsets inside the function
  std::uint32_t end = 0;
  std::vector<std::uint32_t> successors;  // block numbers; the target of a branch last
  std::vector<std::uint32_t> predecessors;
  bool is_loop_header = false;  // a back-edge leads here
  // The block that catches a trap of this block's first instruction, or kNoIndex. Within a protect every instruction
  // that can trap begins a block, so that the handler sees the registers as they are at that block's start.
  std::uint32_t handler = kNoIndex;
};

// For each word of the code, the word offset of the handler that catches a trap of the instruction there, or kNoIndex.
// Empty if the function has no handler.
std::vector<std::uint32_t> find_handlers(const Module& module, const Function& function);

// The reachable blocks in reverse postorder. The first block starts at word 0.
std::vector<CodeBlock> find_blocks(const Module& module, const Function& function);

}  // namespace dhpvm::bytecode
