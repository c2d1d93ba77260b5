// SPDX-License-Identifier: Apache-2.0
// Traps that the program catches: the places in a function where each is caught, and the caught traps that wait to be
// read, or to go on after something has been closed. Internal to this room.
// || Compiled code finds its handlers by itself; the interpreter looks here, and only after a trap.
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
  // The instruction of `function` that handles a trap of the instruction at `pc`, which may also be the address of its
  // second word; null if there is none, or if `pc` is not in the bytecode of `function`.
  const bytecode::Word* handler(const LinkedModule& linked, const LinkedFunction& function,
                                const bytecode::Word* pc);

  // Caught traps, by number. Taking one, or letting one go on, drops those with higher numbers: they belong to calls
  // that have ended.
  std::vector<Error> kept;

 private:
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>>
      handlers_;  // by function: bytecode::find_handlers()
};

// Whether programs may catch this trap. Limits, interrupts, races and lost devices concern the user who runs them.
bool is_catchable(const Error& trap);

// For the interpreter, after context.trap was set: leaves calls up to one that catches the trap, at most down to the
// last entry from C++ or compiled code, and sets the registers to the handler. False if no call catches it.
bool continue_at_handler(Context& context);

// Keeps context.trap, which has been caught, and returns its number. A negative number means a trap of its own: the
// program has nested so many caught traps that it must be endless.
std::int64_t keep_trap(Context& context);

// Makes context.trap the trap of this number, with the calls that it had.
void raise_again(Context& context, std::int64_t number);

}  // namespace dhpvm::vm
