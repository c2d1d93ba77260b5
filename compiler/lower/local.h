// SPDX-License-Identifier: Apache-2.0
// The storage of locals: registers, a cell that closures share, or a local array.
#pragma once

#include <unordered_map>

#include "compiler/lower/lowering_part.h"

namespace dhpvm::compiler {

struct LocalSlot {
  enum class Kind : std::uint8_t { kRegisters, kCell, kFixedArray };
  Kind kind = Kind::kRegisters;
  Values registers;  // kCell: one, the cell; kFixedArray: the local array of each leaf
};

class LocalLowering : public LoweringPart {
 public:
  using LoweringPart::LoweringPart;

  // Starts a local: assigns its registers or makes its cell, and stores its value.
  void declare(const hir::Local& local, const Expr* value);
  void declare_boxed(const hir::Local& local, Register cell, const Values& initial);
  void declare_fixed_array(const hir::Local& local);
  // The number of elements in a register, for bounds checks that trap.
  Register measure(std::uint64_t size);
  LocalSlot& slot(const hir::Local& local) { return slots_[&local]; }
  const std::vector<bytecode::LocalArray>& arrays() const { return arrays_; }

 private:
  std::unordered_map<const hir::Local*, LocalSlot> slots_;
  std::vector<bytecode::LocalArray> arrays_;
};

}  // namespace dhpvm::compiler
