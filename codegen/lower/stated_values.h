// SPDX-License-Identifier: Apache-2.0
// Values of primitive registers that the program itself states: constants, in the block that loads them, and registers
// to which a function assigns only one constant, everywhere.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "codegen/lower/instruction.h"

namespace dhpvm::codegen {

class StatedValues {
 public:
  StatedValues(const bytecode::Module& module, const bytecode::Function& function);

  // The instructions of a block, one after the other.
  void begin_block();
  void step(const Instruction& instruction);

  // The register's 64 bits in front of the next instruction, or nothing.
  std::optional<std::uint64_t> bits(std::uint32_t reg) const {
    return here_[reg] ? here_[reg] : everywhere_[reg];
  }

 private:
  // Registers that instructions write, and what: nothing for anything but a constant.
  template <typename Write>
  void writes_of(const Instruction& i, Write&& write) const;

  const bytecode::Module& module_;
  std::vector<std::optional<std::uint64_t>> everywhere_;
  std::vector<std::optional<std::uint64_t>> here_;  // since the beginning of the block
};

}  // namespace dhpvm::codegen
