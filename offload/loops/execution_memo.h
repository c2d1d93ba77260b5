// SPDX-License-Identifier: Apache-2.0
// Remembers what was found out about the last executions of a kernel, for findings that depend on their numbers alone.
// Most executions of short loops repeat earlier numbers, and comparing these is faster than evaluating a footprint.
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

// Replaces `numbers` by all that Ranges depend on, apart from elements of arrays: the bounds, the scalars on which
// accesses depend, and the shapes of the arrays, in this order.
void numbers_of(const Footprint& footprint, const LoopChunk& chunk, std::vector<std::int64_t>& numbers);

// The numbers of one array, in this order.
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
// The place of the first number of array `array` (of `arrays` in all) among `count` numbers.
constexpr std::size_t place_of_array(std::size_t count, std::size_t array, std::size_t arrays) {
  return count - kArrayNumbers * (arrays - array);
}

std::uint64_t hash_of(std::span<const std::int64_t> numbers);

// A set-associative cache of at most 4 * kSets values, with lists of numbers as keys. A program that repeats a sequence
// of steps, such as an epoch, has a few keys for each step. Used by one thread at a time.
template <typename Value, std::size_t kSets>
class NumberMemo {
 public:
  // The value of this key, or null.
  const Value* find(std::span<const std::int64_t> numbers) {
    hash_ = hash_of(numbers);
    if (entries_.empty()) return nullptr;
    for (const Entry& entry : entries_[hash_ % kSets].ways) {
      if (entry.hash == hash_ && std::ranges::equal(entry.numbers, numbers)) return &entry.value;
    }
    return nullptr;
  }
  // Stores the value of the key that find() was last called with; replaces the oldest entry of its set.
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
    std::vector<std::int64_t> numbers;  // empty: the entry is unused
    Value value;
  };
  struct Set {
    std::array<Entry, 4> ways;
    std::size_t oldest = 0;
  };
  std::vector<Set> entries_;  // empty before the first keep()
  std::uint64_t hash_ = 0;    // of the key of the last find()
};

// A memo for the executions of one kernel. Used by one thread at a time.
template <typename Value>
class ExecutionMemo {
 public:
  // The value that was kept for an execution with the same numbers, or null: the caller may then compute and keep() it.
  const Value* find(const Footprint& footprint, const LoopChunk& chunk) {
    numbers_of(footprint, chunk, asked_);
    return memo_.find(asked_);
  }
  // Keeps the value for the execution that find() was last called with.
  const Value& keep(Value value) { return memo_.keep(asked_, std::move(value)); }

 private:
  // Room for 128 values: an epoch of the digits network in samples/ has 45 steps, with two sizes of batches.
  NumberMemo<Value, 32> memo_;
  std::vector<std::int64_t> asked_;
};

}  // namespace dhpvm::offload
