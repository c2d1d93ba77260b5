// SPDX-License-Identifier: Apache-2.0
// Known constants in primitive registers: those that the same block loads, and registers to which the function assigns
// only one constant, everywhere.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "codegen/lower/instruction.h"

namespace dhpvm::codegen {

class StatedValues {
 public:
  StatedValues(const bytecode::Module& module, const bytecode::Function& function);

  // Processes the instructions of a block, one after the other.
  void begin_block();
  void step(const Instruction& instruction);

  // The register's 64 bits before the next instruction, or nothing.
  std::optional<std::uint64_t> bits(std::uint32_t reg) const {
    return here_[reg] ? here_[reg] : everywhere_[reg];
  }

 private:
  // Calls `write` for registers that instructions write, with the value if it is a constant.
  template <typename Write>
  void writes_of(const Instruction& i, Write&& write) const;

  const bytecode::Module& module_;
  std::vector<std::optional<std::uint64_t>> everywhere_;
  std::vector<std::optional<std::uint64_t>> here_;  // known since the start of the block
};

}  // namespace dhpvm::codegen
