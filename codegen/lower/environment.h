// SPDX-License-Identifier: Apache-2.0
// The differences between whole functions and kernels: how a handle looks, how a trap leaves, what a back-edge must do,
// calls. function_lowering.h and kernel_lowering.h provide it, the rest of the lowering asks.
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

  // A field of an array handle that is known not to be null.
  virtual Value* array_field(Value* array, ArrayField field) = 0;
  // `may_be_vector`: the array may be of rank 1 (and `dimension` is then 0).
  virtual Value* array_dimension(Value* array, unsigned dimension, bool may_be_vector) = 0;
  // Leaves with a trap if the array is null, where the bounds check would not find out.
  virtual void check_array(const Instruction& i, Value* array) = 0;
  // Called with the builder in a cold block where an element is not accessible; must end it, with a trap or,
  // if the access may be tried, with a branch to `go_on`.
  virtual void inaccessible(const Instruction& i, Value* array, Value* index, bool write,
                            llvm::BasicBlock* go_on) = 0;
  // Called with the builder in a cold block; must end it.
  virtual void leave_with_trap(const Instruction& i, TrapKind kind) = 0;
  // An iteration of a loop that is not counted is about to begin: falls through, or leaves. After having done more
  // than counting, it may also branch to `refilled`, if that is not null.
  virtual void tick(const Instruction& i, llvm::BasicBlock* refilled) = 0;
  // For counted loops: how many back-edges may be taken until the next tick, at least 0; a value of type i64.
  virtual Value* ticks_at_hand() = 0;
  // Whether that is always the same, so that all stretches of a loop but its last are of one length.
  virtual bool has_even_strips() const { return false; }
  // Takes `count` of them away, or gives them back.
  virtual void take_ticks(Value* count) = 0;
  virtual void give_ticks(Value* count) = 0;
  // Whether the stack has room for a call of the function: a value of type i1. Kernels see through no calls.
  virtual Value* has_room_for(std::uint32_t) { return nullptr; }
  // Ends the block: return, return.p, return.r.
  virtual void lower_return(const Instruction& i) = 0;
  // The families that only functions have, and calls.
  virtual void lower_special(const Instruction& i) = 0;
  // Called before the first instruction of a block, and after every instruction.
  virtual void block_begins() {}
  virtual void lowered(const Instruction&) {}
  // Whether the check of this element access or index is proven to succeed, and is left out.
  virtual bool is_proven(const Instruction& i) const = 0;
  // After a reference has been stored into an element: the write barrier.
  virtual void element_stored(const Instruction& i) = 0;
  // Whether other threads may update the same elements.
  virtual bool needs_atomics() const = 0;
};

}  // namespace dhpvm::codegen
