// SPDX-License-Identifier: Apache-2.0
// Liveness of the upper halves of primitive registers at the start of blocks: live if an instruction reads all 64 bits
// there or later, on some path, before the register is written. A register that is only read as values of at most 32
// bits, such as an i32, may hold anything in its upper half.
#pragma once

#include <cstdint>
#include <vector>

#include "bytecode/control_flow.h"
#include "bytecode/module.h"
#include "bytecode/register_set.h"

namespace dhpvm::codegen {

class UpperHalves {
 public:
  // `blocks` comes from find_blocks(). Keeps none of the arguments.
  UpperHalves(const bytecode::Module& module, const bytecode::Function& function,
              const std::vector<bytecode::CodeBlock>& blocks);

  // Whether the upper half is live at the start of the block, or in the handler of its first instruction.
  bool are_needed(std::uint32_t block, std::uint32_t reg) const {
    return bytecode::contains(live_.in[block], reg);
  }

 private:
  bytecode::LiveSets live_;
};

}  // namespace dhpvm::codegen
