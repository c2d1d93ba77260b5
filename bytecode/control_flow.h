// SPDX-License-Identifier: Apache-2.0
// The blocks of one function. Only reachable code counts: the verifier knows nothing about the rest.
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
  // Where a trap of the first instruction is caught: a block number, or kNoIndex. Within the reach of a protect every
  // instruction that can trap begins a block, so that the handler sees the registers as they are at the beginning.
  std::uint32_t handler = kNoIndex;
};

// By word of the code: where a trap of the instruction there is caught, as a word offset; kNoIndex where none is.
// Empty if the function catches nothing.
std::vector<std::uint32_t> find_handlers(const Module& module, const Function& function);

// In an order in which, back-edges aside, predecessors come first. The first block starts at word 0.
std::vector<CodeBlock> find_blocks(const Module& module, const Function& function);

}  // namespace dhpvm::bytecode
