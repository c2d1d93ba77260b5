// SPDX-License-Identifier: Apache-2.0
// The record of one active call, on the frame stack.
#pragma once

#include <cstdint>

#include "bytecode/isa.h"
#include "gc/object.h"
#include "vm/linker.h"

namespace dhpvm::vm {

// Registers live on their own two stacks, where a callee's first registers are its caller's argument window. All
// records have the same size and lie one after the other: the caller's is at `this - 1`. If the address depended on the
// callee, the critical path from call to call would have two more loads.
struct Frame {
  const bytecode::Word*
      return_pc;  // where the caller goes on; for calls from C++, of kernels and of anchors, an
                  // opcode of the interpreter's own
  std::uint64_t* caller_p;
  gc::Ref* caller_r;
  const LinkedFunction* function;
  std::int64_t stack_left;  // of Limits::stack_bytes

  // The local arrays' memory. `local_end` is Context::local_end: what calls have taken from the stack limit
  // so far also serves as an address, because every call takes more than its local arrays need.
  std::byte* locals(std::byte* local_end) const { return local_end - stack_left - function->local_bytes; }
};

}  // namespace dhpvm::vm
