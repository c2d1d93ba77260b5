// SPDX-License-Identifier: Apache-2.0
// Atomic updates of elements (element_updates.h) by the work-items of a group. If the part of an array that belongs to
// one iteration is small, the group updates a copy in local memory, and merges that into the array at the end.
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
  // Local memory for the copies of all arrays, in bytes: with it, a processor still holds as many groups of 256 as
  // without.
  static constexpr std::uint64_t kMemory = 16 << 10;

  // `index`: the index of the iteration, which selects the part of an array along its outermost dimension. The
  // function's descriptors have been hoisted.
  UpdateWindows(const bytecode::Module& bytecode, const bytecode::KernelRecord& record,
                llvm::Function& function, llvm::Argument& arrays, llvm::Value* index,
                std::vector<ElementUpdate> updates);

  // Called at a point before the updates that the whole group reaches: chooses the arrays with copies, and makes these.
  // `turns`: the approximate number of updates by all groups that share the iteration.
  void open(llvm::IRBuilder<>& builder, llvm::Value* turns, llvm::Value* groups);
  // Makes the updates atomic.
  void write_updates();
  // Called at a point at the end that the whole group reaches, even if it skipped open().
  void close(llvm::IRBuilder<>& builder);

 private:
  // The copied elements of one array.
  struct Window {
    unsigned array = 0;
    std::uint64_t stride = 0;                                               // bytes of an element
    llvm::Type* word = nullptr;                                             // the type of all updates
    llvm::AtomicRMWInst::BinOp operation = llvm::AtomicRMWInst::BAD_BINOP;  // combines copies
    llvm::Value* data = nullptr;         // the address of the array's element 0
    llvm::Value* first = nullptr;        // the number of the first element
    llvm::Value* elements = nullptr;     // of the part
    llvm::Value* is_there = nullptr;     // whether the index is in range
    llvm::AllocaInst* place = nullptr;   // byte offset in the local memory
    llvm::AllocaInst* length = nullptr;  // number of copied elements: all, or 0
  };
  // The distance in bytes from the array's element 0: a sum of values, each with a factor, and a constant.
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
