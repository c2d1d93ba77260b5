// SPDX-License-Identifier: Apache-2.0
// What was found out about the last executions of a kernel from their numbers alone: short loops are mostly executed
// with the same numbers again, and to put them into a footprint takes longer than to compare them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "offload/loops/footprint.h"
#include "offload/loops/loop.h"

namespace dhpvm::offload {

// Everything that Ranges depend on, where no elements are looked at: bounds, the scalars that count for accesses, and
// the shapes of arrays. Replaces what `numbers` had.
void numbers_of(const Footprint& footprint, const LoopChunk& chunk, std::vector<std::int64_t>& numbers);

// Belongs to one kernel; one thread uses it at a time.
template <typename Value>
class ExecutionMemo {
 public:
  // What was kept of an execution with the same numbers; null: nothing. Whoever finds it out now may keep() it.
  const Value* find(const Footprint& footprint, const LoopChunk& chunk) {
    numbers_of(footprint, chunk, asked_);
    for (const Entry& entry : entries_) {
      if (entry.numbers == asked_) return &entry.value;
    }
    return nullptr;
  }
  // Of the execution that was asked for last, in the place of the oldest one.
  const Value& keep(Value value) {
    Entry& entry = entries_[oldest_++ % entries_.size()];
    entry = {asked_, std::move(value)};
    return entry.value;
  }

 private:
  struct Entry {
    std::vector<std::int64_t> numbers;  // empty: nothing was kept here
    Value value;
  };
  std::array<Entry, 4> entries_;
  std::size_t oldest_ = 0;
  std::vector<std::int64_t> asked_;
};

}  // namespace dhpvm::offload
