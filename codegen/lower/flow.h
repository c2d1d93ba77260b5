// SPDX-License-Identifier: Apache-2.0
// The control flow of one function, and what is known of its registers at each block: types of primitive
// registers (forwards), which reference registers are still needed (backwards), and loops.
//
// Only reachable code is looked at: the verifier knows nothing of the rest.
#pragma once

#include <cstdint>
#include <vector>

#include "bytecode/module.h"
#include "codegen/lower/instruction.h"

namespace dhpvm::codegen {

struct Block {
  std::uint32_t begin = 0;  // word offsets inside the function
  std::uint32_t end = 0;
  std::vector<std::uint32_t> successors;  // block numbers; the target of a branch last
  std::vector<std::uint32_t> predecessors;
  std::vector<SlotType> entry_types;  // by primitive register
  std::vector<bool> live_out;         // by reference register
  bool is_loop_header = false;        // a back-edge leads here
};

// An innermost loop that is closed by one `for` instruction, counts with a register that nothing else in it
// writes up to a bound that does not change in it, and calls nothing.
struct CountedLoop {
  std::uint32_t header = 0;  // block numbers
  std::uint32_t latch = 0;
  std::vector<bool> contains;  // by block
  std::uint16_t counter = 0;   // registers
  std::uint16_t bound = 0;
  bool wide = false;  // 64 bits
};

class Flow {
 public:
  // `count_loops`: whether to look for counted loops.
  Flow(const bytecode::Module& module, const bytecode::Function& function, bool count_loops = true);

  // In an order in which, back-edges aside, predecessors come first. The first starts at word 0.
  const std::vector<Block>& blocks() const { return blocks_; }
  const std::vector<CountedLoop>& counted_loops() const { return counted_loops_; }
  // The number of the block that starts at this word.
  std::uint32_t block_at(std::uint32_t pc) const { return block_of_[pc]; }

  // The reference registers that are read after the instruction at `pc` of `block` without having been
  // written by it or later; in increasing order.
  std::vector<std::uint32_t> live_after(const Block& block, std::uint32_t pc) const;

  // Applies what the instruction does to the types of primitive registers.
  void step_types(const Instruction& instruction, std::vector<SlotType>& types) const;

 private:
  void find_blocks();
  void find_types();
  void find_liveness();
  void find_counted_loops();
  bool make_counted(std::uint32_t latch, const Instruction& instruction, CountedLoop& loop) const;
  void step_liveness(const Instruction& instruction, std::vector<bool>& live) const;

  const bytecode::Module& module_;
  const bytecode::Function& function_;
  std::vector<Block> blocks_;
  std::vector<std::uint32_t> block_of_;  // by word
  std::vector<CountedLoop> counted_loops_;
};

}  // namespace dhpvm::codegen
