// SPDX-License-Identifier: Apache-2.0
// The differences between whole functions and kernels: handles, traps, back-edges and calls. function_lowering.h and
// kernel_lowering.h implement this interface, and the rest of the lowering uses it.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include "codegen/lower/instruction.h"
#include "codegen/runtime_table.h"

namespace dhpvm::codegen {

enum class ArrayField : std::uint8_t { kData, kReadable, kWritable, kLength };

class LoweringEnvironment {
 public:
  using Value = llvm::Value;

  LoweringEnvironment() = default;
  virtual ~LoweringEnvironment() = default;
  LoweringEnvironment(const LoweringEnvironment&) = delete;
  LoweringEnvironment& operator=(const LoweringEnvironment&) = delete;

  // A field of an array handle that is not null.
  virtual Value* array_field(Value* array, ArrayField field) = 0;
  // `may_be_vector`: the array may be of rank 1 (and `dimension` is then 0).
  virtual Value* array_dimension(Value* array, unsigned dimension, bool may_be_vector) = 0;
  // Traps if the array is null and the bounds check would not detect it.
  virtual void check_array(const Instruction& i, Value* array) = 0;
  // Called with the builder in a cold block for an inaccessible element; must end the block, with a trap or, if the
  // access may be retried, with a branch to `go_on`.
  virtual void inaccessible(const Instruction& i, Value* array, Value* index, bool write,
                            llvm::BasicBlock* go_on) = 0;
  // Called with the builder in a cold block; must end it.
  virtual void leave_with_trap(const Instruction& i, TrapKind kind) = 0;
  // Called before an iteration of a loop that is not counted: falls through, or leaves. If it had to call the runtime,
  // it may also branch to `refilled`, if that is not null.
  virtual void tick(const Instruction& i, llvm::BasicBlock* refilled) = 0;
  // For counted loops: the number of back-edges until the next tick, at least 0; an i64.
  virtual Value* ticks_at_hand() = 0;
  // Whether that is constant, so that all strips of a loop but its last have the same length.
  virtual bool has_even_strips() const { return false; }
  // Subtract `count` from the ticks, and give it back.
  virtual void take_ticks(Value* count) = 0;
  virtual void give_ticks(Value* count) = 0;
  // Whether the stack has room for a call of the function: an i1. Kernels do not use it.
  virtual Value* has_room_for(std::uint32_t) { return nullptr; }
  // Ends the block: return, return.p, return.r.
  virtual void lower_return(const Instruction& i) = 0;
  // Calls, and the families that only functions have.
  virtual void lower_special(const Instruction& i) = 0;
  // Called before the first instruction of a block, and after every instruction.
  virtual void block_begins() {}
  virtual void lowered(const Instruction&) {}
  // Whether the check of this element access or index is proven to succeed, and is omitted.
  virtual bool is_proven(const Instruction& i) const = 0;
  // Called after a reference has been stored into an element: emits the write barrier.
  virtual void element_stored(const Instruction& i) = 0;
  // Whether other threads may update the same elements concurrently.
  virtual bool needs_atomics() const = 0;
};

}  // namespace dhpvm::codegen
