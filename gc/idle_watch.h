// SPDX-License-Identifier: Apache-2.0
// Decides when a program that allocates little gets a full collection, so that what it dropped after a peak goes back
// to the system. Without allocations nothing else would start a collection.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "gc/options.h"

namespace dhpvm::gc {

class IdleWatch {
 public:
  using Clock = std::chrono::steady_clock;

  // Whether the length of a wait is known in advance (a sleep), or only the time that it has lasted so far (input).
  enum class WaitKind : std::uint8_t { kAhead, kSoFar };
  struct Wait {
    WaitKind kind;
    Clock::duration time;
  };
  // A program that runs: a collection never delays the end of a wait.
  static constexpr Wait kRunning{WaitKind::kAhead, Clock::duration::max()};

  // Whether to collect now. `allocated`: bytes allocated since the heap's creation, inside and outside of it.
  // `occupied`: bytes that the heap and the memory it keeps alive occupy.
  bool due(Clock::time_point now, std::uint64_t allocated, std::size_t occupied, Wait wait);

  // After each collection, with the bytes occupied before and after it.
  void collected(CollectionKind kind, CollectionReason reason, std::size_t before, std::size_t after,
                 Clock::time_point begin, Clock::time_point end);

 private:
  bool has_time(Wait wait) const;

  // The current measurement of the allocation rate: its beginning, and the bytes allocated until then.
  Clock::time_point look_begin_{};
  std::uint64_t look_allocated_ = 0;
  Clock::time_point calm_since_{};

  std::uint64_t allocated_ = 0;         // as of the last look
  std::uint64_t allocated_before_ = 0;  // as of the last idle collection
  std::size_t occupied_after_ = 0;      // likewise
  Clock::time_point not_before_{};
  Clock::duration interval_{};
  Clock::duration pause_{};  // of the last full collection
  int fruitless_ = 0;        // idle collections in a row that freed little
};

}  // namespace dhpvm::gc
