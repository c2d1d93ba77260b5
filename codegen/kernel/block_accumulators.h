// SPDX-License-Identifier: Apache-2.0
// The accumulators of a loop with reductions while it works off one block: each lane has its own, so that the order
// of the reductions does not depend on how many lanes a vector has (bytecode/module.h).
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <vector>

#include "bytecode/module.h"

namespace dhpvm::codegen {

class BlockAccumulators {
 public:
  // For a loop whose vectors have `width` lanes, which divides kReductionLanes: the accumulators of neighbouring lanes
  // are a vector, and a block needs groups() of these. All arguments outlive the object; `types` has one for each of
  // the reductions. Reserves memory at the entry of the function that `b` is in.
  BlockAccumulators(llvm::IRBuilder<>& b, const std::vector<bytecode::Reduction>& reductions,
                    const std::vector<llvm::Type*>& types, unsigned width);

  unsigned groups() const { return groups_; }

  // Before a block: the identities.
  void reset();
  // One vector for each reduction, of the group of this number.
  std::vector<llvm::Value*> load(llvm::Value* group);
  void store(llvm::Value* group, const std::vector<llvm::Value*>& vectors);
  // All lanes, from or to where KernelChunk::lanes points.
  void load_lanes(llvm::Value* lanes);
  void store_lanes(llvm::Value* lanes);
  // After a block: combines the lanes pairwise, lane l with lane l + 16, then + 8, 4, 2, 1. Writes the values of the
  // block to `partials` and returns where those of the next one belong.
  llvm::Value* finish(llvm::Value* partials);

 private:
  llvm::Type* vector_of(llvm::Type* type) const;
  llvm::Type* bits_of(std::size_t n) const;
  llvm::Value* identity_of(std::size_t n) const;
  llvm::Value* place(std::size_t n, llvm::Value* group);
  llvm::Value* combined(std::size_t n);
  template <typename Each>
  void for_lanes(llvm::Value* lanes, Each&& each);

  llvm::IRBuilder<>& b_;
  const std::vector<bytecode::Reduction>& reductions_;
  const std::vector<llvm::Type*>& types_;
  const unsigned width_;
  const unsigned groups_;
  std::vector<llvm::AllocaInst*> memory_;  // of each reduction
};

}  // namespace dhpvm::codegen
