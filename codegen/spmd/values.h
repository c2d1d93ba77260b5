// SPDX-License-Identifier: Apache-2.0
// The values of the vector function that stand for those of the scalar one.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/IR/IRBuilder.h>

#include "codegen/spmd/divergence.h"

namespace dhpvm::codegen::spmd {

// The vector form of `type`: <width x type>, or for a structure that of its elements; null where LLVM has
// none.
llvm::Type* widen(llvm::Type* type, unsigned width);

// `mask` is true for all lanes, whatever happens.
bool is_full(const llvm::Value* mask);

class Values {
 public:
  Values(const Divergence& divergence, unsigned width) : divergence_(divergence), width_(width) {}

  // Where the splats of arguments go: in front of this instruction, which dominates all their uses.
  void set_entry(llvm::Instruction* end_of_entry) { end_of_entry_ = end_of_entry; }

  // The value of a uniform value, or that of lane 0 of an affine one.
  void set_scalar(const llvm::Value* value, llvm::Value* scalar) { scalars_[value] = scalar; }
  void set_vector(const llvm::Value* value, llvm::Value* vector) { vectors_[value] = vector; }
  // From now on `value` is what `other` is.
  void set_alias(const llvm::Value* value, const llvm::Value* other) { aliases_[value] = resolve(other); }

  llvm::Value* scalar(const llvm::Value* value) const;
  // All lanes; made behind the definition of the scalar when there is only that.
  llvm::Value* vector(const llvm::Value* value);
  // One lane, whose number is an i32 known when the code runs.
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
