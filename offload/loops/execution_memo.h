// SPDX-License-Identifier: Apache-2.0
// Findings about the last executions of a kernel that follow from their numbers alone: short loops are mostly executed
// with the same numbers again, and putting them into a footprint takes longer than comparing them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "offload/loops/footprint.h"
#include "offload/loops/loop.h"

namespace dhpvm::offload {

// Everything that Ranges depend on, where no elements are looked at: bounds, the scalars that count for accesses, and
// the shapes of arrays, in this order. Replaces what `numbers` had.
void numbers_of(const Footprint& footprint, const LoopChunk& chunk, std::vector<std::int64_t>& numbers);

// The numbers of an array, in their order.
enum class ArrayNumber : std::uint8_t {
  kReadable,
  kWritable,
  kLength,
  kDimension0,
  kDimension1,
  kDimension2,
  kIsThere
};
constexpr std::size_t kArrayNumbers = 7;
constexpr ArrayNumber dimension_number(std::uint32_t dimension) {
  return static_cast<ArrayNumber>(static_cast<std::uint32_t>(ArrayNumber::kDimension0) + dimension);
}
// The first number of array `array`, of `arrays`, among `count` numbers.
constexpr std::size_t place_of_array(std::size_t count, std::size_t array, std::size_t arrays) {
  return count - kArrayNumbers * (arrays - array);
}

std::uint64_t hash_of(std::span<const std::int64_t> numbers);

// Values by the numbers that they were found out from: at most 4 * kSets. A loop that goes through its data again and
// again, as the steps of an epoch do, has a few numbers for each step. One thread uses it at a time.
template <typename Value, std::size_t kSets>
class NumberMemo {
 public:
  // Null: nothing was kept.
  const Value* find(std::span<const std::int64_t> numbers) {
    hash_ = hash_of(numbers);
    if (entries_.empty()) return nullptr;
    for (const Entry& entry : entries_[hash_ % kSets].ways) {
      if (entry.hash == hash_ && std::ranges::equal(entry.numbers, numbers)) return &entry.value;
    }
    return nullptr;
  }
  // For the numbers that were asked for last, in the place of the oldest one of their set.
  const Value& keep(std::span<const std::int64_t> numbers, Value value) {
    if (entries_.empty()) entries_.resize(kSets);
    Set& set = entries_[hash_ % kSets];
    Entry& entry = set.ways[set.oldest++ % set.ways.size()];
    entry = {hash_, {numbers.begin(), numbers.end()}, std::move(value)};
    return entry.value;
  }

 private:
  struct Entry {
    std::uint64_t hash = 0;
    std::vector<std::int64_t> numbers;  // empty: nothing was kept here
    Value value;
  };
  struct Set {
    std::array<Entry, 4> ways;
    std::size_t oldest = 0;
  };
  std::vector<Set> entries_;  // none before the first is kept
  std::uint64_t hash_ = 0;    // of what was asked for last
};

// Belongs to one kernel; one thread uses it at a time.
template <typename Value>
class ExecutionMemo {
 public:
  // The value kept for an execution with the same numbers; null: none. The caller may compute and keep() it now.
  const Value* find(const Footprint& footprint, const LoopChunk& chunk) {
    numbers_of(footprint, chunk, asked_);
    return memo_.find(asked_);
  }
  // Keeps it for the execution that was asked for last.
  const Value& keep(Value value) { return memo_.keep(asked_, std::move(value)); }

 private:
  // 128 of them: an epoch of the network of the samples has 45 steps, with two numbers of pictures.
  NumberMemo<Value, 32> memo_;
  std::vector<std::int64_t> asked_;
};

}  // namespace dhpvm::offload
