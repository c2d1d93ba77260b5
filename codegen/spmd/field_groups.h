// SPDX-License-Identifier: Apache-2.0
// Accesses to fields of structures: the lanes' structures lie behind each other, so that what one field takes
// of memory has gaps, which the other fields fill. Done together, they are a few loads or stores of whole
// vectors, in place of one for each lane and field.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/IR/Instructions.h>

#include <vector>

#include "codegen/spmd/divergence.h"

namespace dhpvm::codegen::spmd {

// The size of a value of `type` where an array of them is the same as a vector of them; 0 elsewhere.
unsigned element_bytes_of(llvm::Type* type, const llvm::DataLayout& layout);

struct FieldGroup {
  unsigned bytes = 0;  // of an element
  unsigned step = 0;   // from one lane's element to the next one's, in elements
  // Which access is to element n behind the first one in memory; null for gaps. `step` of them.
  std::vector<const llvm::Instruction*> fields;
  // Where all are done: at the first of the loads, at the last of the stores.
  const llvm::Instruction* place = nullptr;
  unsigned accesses = 0;
};

class FieldGroups {
 public:
  FieldGroups(const llvm::Function& function, const Divergence& divergence);

  // The group of a load or store; null if it has no gaps, or too large ones.
  const FieldGroup* find(const llvm::Instruction& access) const;

 private:
  struct Open;
  void find_loads(const llvm::BasicBlock& block, const Divergence& divergence);
  void find_stores(const llvm::BasicBlock& block, const Divergence& divergence);
  void close(Open& open);

  std::vector<FieldGroup> groups_;
  llvm::DenseMap<const llvm::Instruction*, std::size_t> members_;
};

}  // namespace dhpvm::codegen::spmd
