// SPDX-License-Identifier: Apache-2.0
// The side table of mark bytes: one byte per granule.
//
// A marked object has kMarkStart in the byte of its first granule and kMarkEnd in the byte of its last one
// (both in one byte if it is a single granule long); all other bytes are zero. So marking an object of any
// size costs two stores, and the sweep knows every object's extent without touching the object.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "gc/layout.h"

namespace dhpvm::gc {

constexpr std::uint8_t kMarkStart = 0x80;
constexpr std::uint8_t kMarkEnd = 0x40;

// Several threads may mark the same object at once.
inline void set_mark(std::uint8_t* mark, std::size_t granules) {
  const auto store = [](std::uint8_t& byte, std::uint8_t value) {
    std::atomic_ref(byte).store(value, std::memory_order_relaxed);
  };
  if (granules != 1) store(mark[granules - 1], kMarkEnd);
  store(mark[0], granules == 1 ? kMarkStart | kMarkEnd : kMarkStart);
}

constexpr std::size_t kCoverageWords = kGranulesPerBlock / 64;

// Bit i % 64 of word i / 64 is set if granule i of a block belongs to a marked object.
using Coverage = std::array<std::uint64_t, kCoverageWords>;

// Computes the coverage of one block from its mark bytes. `marks` is aligned to 64.
void compute_coverage(const std::uint8_t* marks, Coverage& coverage);

// The number of granules that no marked object covers.
std::size_t count_free(const Coverage& coverage);

// A run [begin, end) of free granules; empty (begin == end) means none.
struct Hole {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::size_t granules() const { return end - begin; }
};

// The first hole of at least `minimum` granules at or after granule `from`.
Hole find_hole(const Coverage& coverage, std::size_t from, std::size_t minimum);

// Calls visit(Hole) for every hole, in order.
template <typename Visitor>
void for_each_hole(const Coverage& coverage, Visitor&& visit) {
  // `begin` is the start of a hole that reaches the end of the words seen so far, if `open`.
  std::size_t begin = 0;
  bool open = false;
  for (std::size_t word = 0; word < kCoverageWords; ++word) {
    std::uint64_t free = ~coverage[word];
    std::size_t granule = word * 64;
    if (open) {
      if (free == ~std::uint64_t{0}) continue;
      const auto run = static_cast<unsigned>(std::countr_one(free));
      visit(Hole{begin, granule + run});
      open = false;
      free &= free + 1;  // clears the run of ones at the bottom
    }
    while (free != 0) {
      const auto skip = static_cast<unsigned>(std::countr_zero(free));
      const auto run = static_cast<unsigned>(std::countr_one(free >> skip));
      if (skip + run == 64) {
        begin = granule + skip;
        open = true;
        break;
      }
      visit(Hole{granule + skip, granule + skip + run});
      free &= free + (std::uint64_t{1} << skip);
    }
  }
  if (open) visit(Hole{begin, kGranulesPerBlock});
}

// Calls visit(granule) for the first granule of every marked object of a block.
template <typename Visitor>
void for_each_marked(const std::uint8_t* marks, Visitor&& visit) {
  for (std::size_t granule = 0; granule < kGranulesPerBlock; ++granule) {
    if ((marks[granule] & kMarkStart) != 0) visit(granule);
  }
}

}  // namespace dhpvm::gc
