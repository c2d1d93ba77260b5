// SPDX-License-Identifier: Apache-2.0
// Tells C++ code, through the context, where compiled code stands. Internal to this room.
//
// Compiled code keeps its registers to itself. While it calls a function of the virtual machine that may
// collect, trap or call back into the program, an Anchor stands for it on the frame stack.
#pragma once

#include "vm/context.h"

namespace dhpvm::vm {

class Anchor {
 public:
  // `site`: see codegen/runtime_table.h. `left`: of the stack limit. `p_end` and `r_end`: the first free
  // registers; every reference below `r_end` is a root.
  Anchor(Context& context, std::uint64_t site, std::int64_t left, std::uint64_t* p_end, gc::Ref* r_end)
      : context_(context), frame_(context.frame), pc_(context.pc), p_(context.p), r_(context.r) {
    const LinkedFunction& function = context.functions[site >> 32];
    context.frame = frame_ + 1;
    *context.frame = {&kAnchorCode, p_, r_, &function, left};
    context.pc = context.linked->module().code.data() + function.source->code_offset +
                 static_cast<std::uint32_t>(site);
    context.p = p_end - function.primitive_registers;
    context.r = r_end - function.reference_registers;
  }
  // After a trap, frames of the interpreter may lie above this one.
  ~Anchor() {
    context_.frame = frame_;
    context_.pc = pc_;
    context_.p = p_;
    context_.r = r_;
  }
  Anchor(const Anchor&) = delete;
  Anchor& operator=(const Anchor&) = delete;

 private:
  Context& context_;
  Frame* frame_;
  const bytecode::Word* pc_;
  std::uint64_t* p_;
  gc::Ref* r_;
};

}  // namespace dhpvm::vm
