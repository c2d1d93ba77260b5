// SPDX-License-Identifier: Apache-2.0
// Atomic updates of elements (element_updates.h) by a group's work-items. Where the part of an array that one iteration
// of the loop has is small, the group updates a copy of it in local memory, and adds that to the array at the end.
#pragma once

#include <llvm/ADT/APInt.h>
#include <llvm/ADT/MapVector.h>
#include <llvm/IR/IRBuilder.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "bytecode/module.h"
#include "codegen/device/element_updates.h"

namespace dhpvm::codegen {

class UpdateWindows {
 public:
  // Bytes of local memory for the copies of all arrays: with groups of 256 a processor has as many groups as without.
  static constexpr std::uint64_t kMemory = 16 << 10;

  // `index`: that of the iteration, which selects the part of an array along its outermost dimension. The function's
  // descriptors have been hoisted.
  UpdateWindows(const bytecode::Module& bytecode, const bytecode::KernelRecord& record,
                llvm::Function& function, llvm::Argument& arrays, llvm::Value* index,
                std::vector<ElementUpdate> updates);

  // Where all of the group stand together before the updates, at the builder: chooses the arrays that have copies, and
  // makes those. `turns`: the updates of all groups that share the iteration, about.
  void open(llvm::IRBuilder<>& builder, llvm::Value* turns, llvm::Value* groups);
  // Makes the updates atomic.
  void write_updates();
  // Where all of the group come together in the end, also those for which open() was not come by.
  void close(llvm::IRBuilder<>& builder);

 private:
  // The elements of one array that have a copy.
  struct Window {
    unsigned array = 0;
    std::uint64_t stride = 0;                                               // bytes of an element
    llvm::Type* word = nullptr;                                             // the type of all updates
    llvm::AtomicRMWInst::BinOp operation = llvm::AtomicRMWInst::BAD_BINOP;  // that combines copies
    llvm::Value* data = nullptr;         // the address of the array's element 0
    llvm::Value* first = nullptr;        // the number of the first element
    llvm::Value* elements = nullptr;     // of the part
    llvm::Value* is_there = nullptr;     // the index is one of the array's
    llvm::AllocaInst* place = nullptr;   // bytes from the begin of the local memory
    llvm::AllocaInst* length = nullptr;  // elements with a copy: all, or 0
  };
  // Bytes from the array's element 0: a sum of values times a number of bytes, and a constant part.
  struct Distance {
    llvm::MapVector<llvm::Value*, llvm::APInt> terms;
    llvm::APInt rest{64, 0};
  };

  void add_window(const bytecode::Module& bytecode, const bytecode::KernelRecord& record,
                  llvm::Argument& arrays, unsigned array);
  const Window* window_of(const ElementUpdate& update) const;
  std::optional<Distance> distance_of(const ElementUpdate& update) const;
  llvm::Constant* identity(const Window& window) const;
  llvm::Value* words_of(llvm::IRBuilder<>& builder, const Window& window, llvm::Value* elements) const;
  llvm::Value* address_of(llvm::IRBuilder<>& builder, const Window& window) const;
  template <typename Body>
  void for_words(llvm::IRBuilder<>& builder, const Window& window, Body&& body);

  llvm::Function& function_;
  llvm::Value* const index_;
  const std::vector<ElementUpdate> updates_;
  llvm::GlobalVariable* memory_ = nullptr;
  std::vector<Window> windows_;
};

}  // namespace dhpvm::codegen
