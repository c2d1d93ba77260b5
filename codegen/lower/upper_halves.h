// SPDX-License-Identifier: Apache-2.0
// Which primitive registers of a function have an upper half that matters at the beginning of a block: an instruction
// reads all 64 bits of the register there or later, on some path, and nothing writes it before. A register that is read
// as values of at most 32 bits only, such as an i32, holds anything in its upper half.
#pragma once

#include <cstdint>
#include <vector>

#include "bytecode/control_flow.h"
#include "bytecode/module.h"
#include "bytecode/register_set.h"

namespace dhpvm::codegen {

class UpperHalves {
 public:
  // The blocks are those of find_blocks(). Keeps none of the arguments.
  UpperHalves(const bytecode::Module& module, const bytecode::Function& function,
              const std::vector<bytecode::CodeBlock>& blocks);

  // Whether the upper half of the primitive register is needed where the block begins, or by the handler of its first
  // instruction.
  bool are_needed(std::uint32_t block, std::uint32_t reg) const {
    return bytecode::contains(live_.in[block], reg);
  }

 private:
  bytecode::LiveSets live_;
};

}  // namespace dhpvm::codegen
