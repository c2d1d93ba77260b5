// SPDX-License-Identifier: Apache-2.0
// A chunk: one mapping, and what the pool knows about its contents.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "base/reservation.h"
#include "offload/schedule/memory/buddy.h"

namespace dhpvm::offload {

// A set of units, or of huge pages, of one chunk.
class UnitSet {
 public:
  // Adds [first, first + count). Returns whether any of them was in the set already.
  bool add(std::size_t first, std::size_t count) {
    bool any = false;
    for (std::size_t end = first + count; first < end;) {
      const std::size_t bits = std::min(end - first, 64 - first % 64);
      const std::uint64_t mask = ~std::uint64_t{0} >> (64 - bits) << first % 64;
      any |= (words_[first / 64] & mask) != 0;
      words_[first / 64] |= mask;
      first += bits;
    }
    return any;
  }
  void remove(std::size_t first, std::size_t count) {
    for (; count != 0; ++first, --count) words_[first / 64] &= ~(std::uint64_t{1} << first % 64);
  }
  bool contains_any(std::size_t first, std::size_t count) const {
    for (; count != 0; ++first, --count) {
      if (contains(first)) return true;
    }
    return false;
  }
  bool contains(std::size_t unit) const { return (words_[unit / 64] >> unit % 64 & 1) != 0; }

 private:
  std::array<std::uint64_t, Buddy::kUnits / 64> words_{};
};

struct PoolChunk {
  Reservation mapping;
  bool dedicated = false;  // belongs to one buffer; `units` and `populated` are not used

  Buddy units;
  std::size_t index = 0;  // among the pool's shared chunks
  // Units that may not be zero; unit 0 stands for all of a dedicated chunk.
  UnitSet dirty;
  UnitSet populated;                                   // huge pages made resident
  bool prefers_small_pages = false;                    // set when free units have gone back to the system
  std::chrono::steady_clock::time_point idle_since{};  // if no unit is in use
};

}  // namespace dhpvm::offload
