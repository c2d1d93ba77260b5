// SPDX-License-Identifier: Apache-2.0
// Traps that the program catches: where in a function each is caught, and those that wait to be looked at, or to go on
// once something has been closed. Internal to this room.
//
// Compiled code finds its handlers by itself; the interpreter looks here, when a trap has happened and not before.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "bytecode/isa.h"
#include "dhpvm/result.h"

namespace dhpvm::vm {

class LinkedModule;
struct Context;
struct LinkedFunction;

class Catching {
 public:
  // The instruction of `function` that catches a trap of the one at `pc`, which may also be its second word; null if
  // none does, or `pc` is not in its bytecode.
  const bytecode::Word* handler(const LinkedModule& linked, const LinkedFunction& function,
                                const bytecode::Word* pc);

  // Caught traps, by number. One that is taken or goes on takes those with higher numbers away: they belong to calls
  // that have ended.
  std::vector<Error> kept;

 private:
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>>
      handlers_;  // by function: bytecode::find_handlers()
};

// Whether programs may catch it. Limits, interrupts, races and lost devices concern the user who runs them.
bool is_catchable(const Error& trap);

// For the interpreter, after context.trap was set: leaves the calls up to one that catches it, down to the last entry
// from C++ or compiled code, and sets the registers to where that goes on. False if none does.
bool continue_at_handler(Context& context);

// Keeps context.trap, which has been caught: its number. Negative after a trap of its own: so many are kept that the
// program must be nested without end.
std::int64_t keep_trap(Context& context);

// context.trap becomes the one of this number, with the calls that it had.
void raise_again(Context& context, std::int64_t number);

}  // namespace dhpvm::vm
