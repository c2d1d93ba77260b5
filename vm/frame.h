// SPDX-License-Identifier: Apache-2.0
// The record of one active call, on the frame stack.
#pragma once

#include <cstdint>

#include "bytecode/isa.h"
#include "gc/object.h"
#include "vm/linker.h"

namespace dhpvm::vm {

// Directly in front of it lie the function's local arrays. Registers live on their own two stacks, where a
// callee's first registers are its caller's argument window.
struct Frame {
  const bytecode::Word*
      return_pc;  // where the caller goes on; for calls from C++ and of kernels, an internal opcode
  std::uint64_t* caller_p;
  gc::Ref* caller_r;
  Frame* caller;
  const LinkedFunction* function;
  std::int64_t stack_left;  // of Limits::stack_bytes

  std::byte* locals() { return reinterpret_cast<std::byte*>(this) - function->local_bytes; }
};
static_assert(sizeof(Frame) == 48);

}  // namespace dhpvm::vm
