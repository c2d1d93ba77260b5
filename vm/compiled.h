// SPDX-License-Identifier: Apache-2.0
// From the interpreter into compiled code. Internal to this room.
#pragma once

#include "vm/context.h"

namespace dhpvm::vm {

// Context::native_limit of a call from C++ that has not entered compiled code yet: the stack of the thread is looked up
// when it does.
constexpr std::uintptr_t kStackNotMeasured = 0;

// Runs the compiled function at whose entry the saved registers stand, and leaves them behind its call. False: the
// program has trapped.
bool enter_compiled(Context& context);

// The ticks have been used up at the instruction at context.pc, and a new batch has been given out. Takes a sample, and
// if the current loop has compiled code, continues in it to the end of the function. False: the program has trapped.
bool continue_compiled(Context& context);

}  // namespace dhpvm::vm
