// SPDX-License-Identifier: Apache-2.0
// Maps the values of the scalar function to those of the vector function.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/IR/IRBuilder.h>

#include "codegen/spmd/divergence.h"

namespace dhpvm::codegen::spmd {

// The vector form of `type`: <width x type>, or for a struct that of its elements; null if LLVM has none.
llvm::Type* widen(llvm::Type* type, unsigned width);

// Whether `mask` is constant true for all lanes.
bool is_full(const llvm::Value* mask);

class Values {
 public:
  Values(const Divergence& divergence, unsigned width) : divergence_(divergence), width_(width) {}

  // The position for splats of arguments: before this instruction, which dominates all their uses.
  void set_entry(llvm::Instruction* end_of_entry) { end_of_entry_ = end_of_entry; }

  // Sets a uniform value, or lane 0 of an affine one.
  void set_scalar(const llvm::Value* value, llvm::Value* scalar) { scalars_[value] = scalar; }
  void set_vector(const llvm::Value* value, llvm::Value* vector) { vectors_[value] = vector; }
  // Makes `value` an alias of `other`.
  void set_alias(const llvm::Value* value, const llvm::Value* other) { aliases_[value] = resolve(other); }

  llvm::Value* scalar(const llvm::Value* value) const;
  // All lanes; created after the definition of the scalar if there is only that.
  llvm::Value* vector(const llvm::Value* value);
  // One lane, whose number is a dynamic i32.
  llvm::Value* lane(const llvm::Value* value, llvm::Value* number, llvm::IRBuilder<>& builder);
  Shape shape(const llvm::Value* value) const { return divergence_.shape(resolve(value)); }

 private:
  const llvm::Value* resolve(const llvm::Value* value) const {
    const auto found = aliases_.find(value);
    return found == aliases_.end() ? value : found->second;
  }

  const Divergence& divergence_;
  const unsigned width_;
  llvm::Instruction* end_of_entry_ = nullptr;
  llvm::DenseMap<const llvm::Value*, llvm::Value*> scalars_;
  llvm::DenseMap<const llvm::Value*, llvm::Value*> vectors_;
  llvm::DenseMap<const llvm::Value*, const llvm::Value*> aliases_;
};

}  // namespace dhpvm::codegen::spmd
