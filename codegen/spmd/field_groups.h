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

// Structures are moved in units, which are as large as the largest field.
struct FieldGroup {
  struct Member {
    const llvm::Instruction* access = nullptr;
    unsigned unit = 0;  // behind the first one in memory
    unsigned byte = 0;  // in the unit, where the field begins
    unsigned bytes = 0;
  };

  unsigned bytes = 0;  // of a unit
  unsigned step = 0;   // from one lane's units to the next one's, in units
  std::vector<Member> members;
  // A bit for each byte that is a field's, for each of `step` units; 0 for gaps.
  std::vector<unsigned> covered;
  // Where all are done: at the first of the loads, at the last of the stores.
  const llvm::Instruction* place = nullptr;

  bool is_covered(unsigned unit) const { return covered[unit] == (1U << bytes) - 1; }
  const Member& member(const llvm::Instruction& access) const;
};

class FieldGroups {
 public:
  // Vectors have `vector_bits`: stores of parts of units take masks of bytes, which those of 512 bits have.
  FieldGroups(const llvm::Function& function, const Divergence& divergence, unsigned vector_bits);

  // The group of a load or store; null if it has no gaps, or too large ones.
  const FieldGroup* find(const llvm::Instruction& access) const;

 private:
  struct Open;
  void find_loads(const llvm::BasicBlock& block, const Divergence& divergence);
  void find_stores(const llvm::BasicBlock& block, const Divergence& divergence);
  void close(Open& open);

  const bool stores_bytes_;
  std::vector<FieldGroup> groups_;
  llvm::DenseMap<const llvm::Instruction*, std::size_t> members_;
};

}  // namespace dhpvm::codegen::spmd
