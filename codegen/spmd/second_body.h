// SPDX-License-Identifier: Apache-2.0
// Second bodies of functions, for frequent special cases (flat_indices.h, edges.h, equal_turns.h).
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/Transforms/Utils/ValueMapper.h>

#include <string_view>

#include "codegen/spmd/shape.h"

namespace dhpvm::codegen::spmd {

// Copies the blocks within their function; the copies refer to each other, and to values mapped by `copies`, which maps
// the copied values afterwards.
llvm::SmallVector<llvm::BasicBlock*, 16> copy_blocks(llvm::ArrayRef<llvm::BasicBlock*> blocks,
                                                     const char* name, llvm::ValueToValueMapTy& copies);

// Whether `value` can be speculated at the function's entry in any lane, at a low cost.
bool can_be_early(const llvm::Value* value, unsigned depth = 6);
// Whether an index of this type and shape increases from lane to lane, except where it wraps, at most once. With a
// larger step, the last lane could be back in range while one in between is not.
bool goes_up(const llvm::Type& type, Shape shape);

// Queries across the lanes, as calls that only `vectorize` understands: the operand's value in the first or the last
// lane, active or not.
constexpr std::string_view kInFirstLane = "dhpvm.in.first.lane";
constexpr std::string_view kInLastLane = "dhpvm.in.last.lane";
bool asks_about_lanes(const llvm::Instruction& instruction);

// A copy of a whole body, and a block before both, where a test selects one of them.
class SecondBody {
 public:
  SecondBody(llvm::Function& function, const char* name);

  // Before both bodies.
  llvm::IRBuilder<>& builder() { return builder_; }
  llvm::ArrayRef<llvm::BasicBlock*> blocks() const { return copied_; }
  // The second body's value for `value`.
  llvm::Value* copy_of(llvm::Value* value) const;
  // A copy, before both bodies, of the instructions that compute `value`; it can_be_early.
  llvm::Value* early(llvm::Value* value);
  llvm::Value* ask(std::string_view question, llvm::Value* value);
  // The caller brings the function into canonical form afterwards.
  void choose_if(llvm::Value* condition);

 private:
  llvm::Function& function_;
  llvm::BasicBlock& old_entry_;
  llvm::BasicBlock* entry_;
  llvm::IRBuilder<> builder_{function_.getContext()};
  llvm::SmallVector<llvm::BasicBlock*, 16> copied_;
  llvm::ValueToValueMapTy copies_;
  llvm::DenseMap<llvm::Value*, llvm::Value*> early_;
};

}  // namespace dhpvm::codegen::spmd
