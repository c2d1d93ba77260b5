// SPDX-License-Identifier: Apache-2.0
// Second bodies of functions, for what lanes mostly have in common (flat_indices.h, edges.h, equal_turns.h).
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/Transforms/Utils/ValueMapper.h>

#include <string_view>

#include "codegen/spmd/shape.h"

namespace dhpvm::codegen::spmd {

// Copies of the blocks, in their function, that refer to each other, and to what `copies` says. It says afterwards what
// was copied.
llvm::SmallVector<llvm::BasicBlock*, 16> copy_blocks(llvm::ArrayRef<llvm::BasicBlock*> blocks,
                                                     const char* name, llvm::ValueToValueMapTy& copies);

// Whether `value` can be computed at the beginning of the function, in whatever lanes, and costs little.
bool can_be_early(const llvm::Value* value, unsigned depth = 6);
// Whether an index of this type and shape goes up from lane to lane, but where it wraps, which it does once
// at most. One that steps further may be back where it was at last, and elsewhere in between.
bool goes_up(const llvm::Type& type, Shape shape);

// Questions about the lanes, as calls that only `vectorize` understands: the value that the operand has in the first
// lane, and in the last one, active or not.
constexpr std::string_view kInFirstLane = "dhpvm.in.first.lane";
constexpr std::string_view kInLastLane = "dhpvm.in.last.lane";
bool asks_about_lanes(const llvm::Instruction& instruction);

// A copy of a whole body, and a place in front of both, where a question decides between them.
class SecondBody {
 public:
  SecondBody(llvm::Function& function, const char* name);

  // In front of both bodies.
  llvm::IRBuilder<>& builder() { return builder_; }
  llvm::ArrayRef<llvm::BasicBlock*> blocks() const { return copied_; }
  // The value that stands for `value` in the second body.
  llvm::Value* copy_of(llvm::Value* value) const;
  // A copy, in front, of what `value` is computed from; it can_be_early.
  llvm::Value* early(llvm::Value* value);
  llvm::Value* ask(std::string_view question, llvm::Value* value);
  // Afterwards the function is to be brought into form.
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
