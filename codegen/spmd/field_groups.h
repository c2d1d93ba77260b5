// SPDX-License-Identifier: Apache-2.0
// Accesses to fields of structs in consecutive lanes: one field's elements have gaps in memory, which the other fields
// fill. Together they are a few loads or stores of whole vectors, in place of one for each lane and field.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/IR/Instructions.h>

#include <vector>

#include "codegen/spmd/divergence.h"

namespace dhpvm::codegen::spmd {

// The size of a value of `type` if an array of them has the layout of a vector; 0 otherwise.
unsigned element_bytes_of(llvm::Type* type, const llvm::DataLayout& layout);

// Structs are moved in units of the size of the largest field.
struct FieldGroup {
  struct Member {
    const llvm::Instruction* access = nullptr;
    unsigned unit = 0;  // index from the first one
    unsigned byte = 0;  // offset of the field in the unit
    unsigned bytes = 0;
  };

  unsigned bytes = 0;  // of a unit
  unsigned step = 0;   // distance from lane to lane, in units
  std::vector<Member> members;
  // For each of `step` units, a bit for each byte that belongs to a field; 0 for gaps.
  std::vector<unsigned> covered;
  // The position of the combined access: the first of the loads, or the last of the stores.
  const llvm::Instruction* place = nullptr;

  bool is_covered(unsigned unit) const { return covered[unit] == (1U << bytes) - 1; }
  const Member& member(const llvm::Instruction& access) const;
};

class FieldGroups {
 public:
  // Vectors have `vector_bits`: stores of parts of units need byte masks, which those of 512 bits have.
  FieldGroups(const llvm::Function& function, const Divergence& divergence, unsigned vector_bits);

  // The group of a load or store; null if its struct has no gaps, or too large ones.
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
