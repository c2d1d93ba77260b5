// SPDX-License-Identifier: Apache-2.0
// Facts about the references in registers at each point of a function: that they are null, or errors or null. A
// successful result contains a null error.
#pragma once

#include <cstdint>
#include <vector>

#include "bytecode/control_flow.h"
#include "codegen/lower/instruction.h"

namespace dhpvm::codegen {

// kUnset: unreachable so far, or unassigned.
enum class ReferenceFact : std::uint8_t { kUnset, kNull, kErrorOrNull, kAny };

class ReferenceFacts {
 public:
  using Facts = std::vector<ReferenceFact>;  // by reference register

  ReferenceFacts(const bytecode::Module& module, const bytecode::Function& function,
                 const std::vector<bytecode::CodeBlock>& blocks);

  const Facts& on_entry(std::uint32_t block) const { return on_entry_[block]; }
  // Applies the effect of the instruction.
  void step(const Instruction& i, Facts& facts) const;
  // Whether a reference of this type, an index into Module::types, is an error. Errors are objects of an ordinary
  // library class, so this is a guess by its name: it may decide about layout and inlining, and nothing may rely on it.
  bool is_error(std::uint32_t type) const;

 private:
  void flow_from(const std::vector<bytecode::CodeBlock>& blocks, std::uint32_t block,
                 std::vector<bool>& dirty);
  bool meet(std::uint32_t block, const Facts& facts);

  const bytecode::Module& module_;
  const bytecode::Function& function_;
  std::vector<Facts> on_entry_;  // by block
};

}  // namespace dhpvm::codegen
