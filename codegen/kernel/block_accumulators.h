// SPDX-License-Identifier: Apache-2.0
// The accumulators of a loop with reductions during one block: each lane has its own, so that the order of the
// reductions does not depend on the vector width (bytecode/module.h).
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <vector>

#include "bytecode/module.h"

namespace dhpvm::codegen {

class BlockAccumulators {
 public:
  // For a loop whose vectors have `width` lanes, which divides kReductionLanes: the accumulators of neighbouring lanes
  // are a vector, and a block needs groups() of these. All arguments outlive the object; `types` has one for each of
  // the reductions. Reserves memory at the entry of the function of `b`.
  BlockAccumulators(llvm::IRBuilder<>& b, const std::vector<bytecode::Reduction>& reductions,
                    const std::vector<llvm::Type*>& types, unsigned width);

  unsigned groups() const { return groups_; }

  // Sets the identities, before a block.
  void reset();
  // One vector for each reduction, for the group with this number.
  std::vector<llvm::Value*> load(llvm::Value* group);
  void store(llvm::Value* group, const std::vector<llvm::Value*>& vectors);
  // Loads or stores all lanes at KernelChunk::lanes.
  void load_lanes(llvm::Value* lanes);
  void store_lanes(llvm::Value* lanes);
  // After a block: combines the lanes pairwise, lane l with lane l + 16, then + 8, 4, 2, 1. Writes the block's values
  // to `partials` and returns the address for the next block.
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
  std::vector<llvm::AllocaInst*> memory_;  // by reduction
};

}  // namespace dhpvm::codegen
