// SPDX-License-Identifier: Apache-2.0
// Copies of arrays that a loop only updates, atomically, for the threads that share it: each adds to elements of its
// own, and the copies are put together in the end. An atomic update takes some 20 cycles, and more than 100 where
// threads update the same line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "bytecode/module.h"
#include "codegen/kernel_abi.h"

namespace dhpvm::offload {

// An array that a loop only updates, by one operation on integers of 32 or 64 bits. Nothing takes old values, and no
// other captured array shares its memory.
struct UpdatedArray {
  std::uint32_t array = 0;  // the number of the captured array
  bytecode::Reduction update;
};

// The copies of one round of a loop. Thread-safe, except combine().
class UpdateCopies {
  // One copy of each updated array, and the call that has them in place of the arrays.
  struct Set {
    std::vector<codegen::KernelArray> arrays;
    std::vector<std::unique_ptr<std::byte[]>> elements;
    codegen::KernelCall call;
  };

 public:
  // `updated`: all that the loop updates. There are no copies where they would have more elements than half of the
  // iterations, where an array may not be updated as a whole, and where the system has no memory for them.
  UpdateCopies(std::span<const UpdatedArray> updated, const codegen::KernelCall& call, std::size_t arrays,
               unsigned threads, std::uint64_t iterations);
  UpdateCopies(const UpdateCopies&) = delete;
  UpdateCopies& operator=(const UpdateCopies&) = delete;

  // The copies that one thread updates, for as long as it has them.
  class Piece {
   public:
    explicit Piece(UpdateCopies& owner) : owner_(owner), set_(owner.take()) {}
    ~Piece() { owner_.give_back(set_); }
    Piece(const Piece&) = delete;
    Piece& operator=(const Piece&) = delete;
    // Null: there are no copies.
    const codegen::KernelCall* call() const { return set_ == nullptr ? nullptr : &set_->call; }

   private:
    UpdateCopies& owner_;
    Set* const set_;
  };

  // Puts what the copies have into the arrays. No thread has a piece any more.
  void combine();

 private:
  Set* take();
  Set* new_set();
  void give_back(Set* set);

  const std::span<const UpdatedArray> updated_;
  const codegen::KernelCall& call_;
  const std::size_t arrays_;
  bool are_wanted_ = false;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Set>> sets_;
  std::vector<Set*> free_;
};

}  // namespace dhpvm::offload
