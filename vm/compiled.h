// SPDX-License-Identifier: Apache-2.0
// From the interpreter into compiled code. Internal to this room.
#pragma once

#include "vm/context.h"

namespace dhpvm::vm {

// Context::native_limit of a call from C++ that has not entered compiled code yet: the thread is looked up then.
constexpr std::uintptr_t kStackNotMeasured = 0;

// The saved registers stand at the entry of a compiled function: runs it, and leaves them behind its call.
// False: the program has trapped.
bool enter_compiled(Context& context);

// The ticks have been used up, and given out again, at the instruction at context.pc: takes a sample, and if
// there is compiled code for the loop that runs, goes on in it to the end of the function. False: the program
// has trapped.
bool continue_compiled(Context& context);

}  // namespace dhpvm::vm
