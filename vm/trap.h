// SPDX-License-Identifier: Apache-2.0
// Turns "this instruction cannot go on" into an Error with a message and a stack trace. Internal
// to this room.
//
// All functions read the registers saved in the context.
#pragma once

#include "dhpvm/result.h"
#include "vm/context.h"

namespace dhpvm::vm {

// Stops the program: context.trap becomes `error`, and context.trace the active calls on the frame stack above the last
// entry from C++ or compiled code.
void raise(Context& context, Error error);

// Adds the callers of the top frame to context.trace, up to the last entry from C++ or compiled code.
void trace_callers(Context& context);

// Takes the trap out of the machine, with the frames of context.trace behind those that it has already (from an inner
// entry).
Error take_trap(Context& context);

// Stops the program with the message that `reason` and the current instruction call for.
void raise(Context& context, TrapReason reason);

// For messages: the operation that would have used null.
Error null_trap(const Context& context);

// "iteration (3, 4)", or "iteration 3" for one dimension: number `linear` of the current loop. If the loop counts
// blocks, the iterations of the block: "iterations 64 to 127".
std::string iteration_text(const InterpretedLoop& loop, std::uint64_t linear);

// Whether the loop's iterations are blocks of the program's, and a block may be run once more because all that it
// writes was made for the loop. Then traps name the program's iteration, otherwise the iterations of the block, on
// every executor. Decodes the kernel: for code that runs once.
bool can_repeat_block(const LinkedModule& linked, const LinkedKernel& kernel);

// "blur.dhp:12" for the instruction at `pc` of any function; empty without line table.
std::string position_text(const LinkedModule& linked, const bytecode::Word* pc);

}  // namespace dhpvm::vm
