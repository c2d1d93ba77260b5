// SPDX-License-Identifier: Apache-2.0
// Clears the reference registers of active calls that no instruction will read again, so that they keep nothing alive
// across a full collection. Internal to this room.
//
// Compiled code mirrors only the references that it needs, so this concerns frames of the interpreter. The instruction
// at which such a frame stands is known if it is the top frame, or if its callee is interpreted, too. Other frames keep
// all their registers: those below a call from C++, and those of parallel loops, whose iterations share the arrays.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "bytecode/control_flow.h"
#include "bytecode/reference_liveness.h"
#include "vm/context.h"

namespace dhpvm::vm {

class DeadRegisters {
 public:
  // Takes time in proportion to the depth of calls; the first time in a function also to its code.
  void clear(const Context& context);

 private:
  struct Analysis {
    std::vector<bytecode::CodeBlock> blocks;
    bytecode::ReferenceLiveness liveness;
  };

  const bytecode::RegisterSet& needed_at(const Context& context, const LinkedFunction& function,
                                         const bytecode::Word* pc);
  bytecode::RegisterSet find_needed(const Context& context, const LinkedFunction& function,
                                    const bytecode::Word* pc);
  const Analysis& analysis_of(const bytecode::Module& module, const LinkedFunction& function);

  std::unordered_map<std::uint32_t, std::unique_ptr<Analysis>> analyses_;  // by function
  std::unordered_map<const bytecode::Word*, bytecode::RegisterSet> needed_;
};

}  // namespace dhpvm::vm
