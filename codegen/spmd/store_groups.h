// SPDX-License-Identifier: Apache-2.0
// Stores to fields of structures: the lanes' structures lie behind each other, so that stores of a field leave
// gaps, which stores of the other fields fill. Done together, at the place of the last one, they are a few
// stores of whole vectors, in place of one for each lane and field.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/IR/Instructions.h>

#include <vector>

#include "codegen/spmd/divergence.h"

namespace dhpvm::codegen::spmd {

// The size of a value of `type` where an array of them is the same as a vector of them; 0 elsewhere.
unsigned element_bytes_of(llvm::Type* type, const llvm::DataLayout& layout);

// Up to this distance between two lanes, in elements, all that lies between them is moved as well.
constexpr unsigned kLargestStep = 4;

struct StoreGroup {
  unsigned bytes = 0;  // of an element
  unsigned step = 0;   // from one lane's element to the next one's, in elements
  // Which store writes element n behind the first one in memory; null for gaps. `step` of them.
  std::vector<const llvm::StoreInst*> fields;
  const llvm::StoreInst* last = nullptr;  // to run
};

class StoreGroups {
 public:
  StoreGroups(const llvm::Function& function, const Divergence& divergence);

  // Null for a store that stands alone.
  const StoreGroup* find(const llvm::StoreInst& store) const;

 private:
  struct Open;
  void look_at(const llvm::BasicBlock& block, const Divergence& divergence);
  void close(Open& open);

  std::vector<StoreGroup> groups_;
  llvm::DenseMap<const llvm::StoreInst*, std::size_t> members_;
};

}  // namespace dhpvm::codegen::spmd
