// SPDX-License-Identifier: Apache-2.0
// Facts about the references in registers at each place of a function: that they are null, or that they are errors
// if they are not. A result that has not failed carries such a null.
#pragma once

#include <cstdint>
#include <vector>

#include "bytecode/control_flow.h"
#include "codegen/lower/instruction.h"

namespace dhpvm::codegen {

// kUnset: control has not come here, or no value has.
enum class ReferenceFact : std::uint8_t { kUnset, kNull, kErrorOrNull, kAny };

class ReferenceFacts {
 public:
  using Facts = std::vector<ReferenceFact>;  // by reference register

  ReferenceFacts(const bytecode::Module& module, const bytecode::Function& function,
                 const std::vector<bytecode::CodeBlock>& blocks);

  const Facts& on_entry(std::uint32_t block) const { return on_entry_[block]; }
  // Applies the effect of the instruction.
  void step(const Instruction& i, Facts& facts) const;
  // Whether a reference of this type, an index into Module::types, is an error. Errors are objects of a class of the
  // library like any other, so this is a guess by its name: good for what is likely, not for what is true.
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
