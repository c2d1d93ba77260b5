// SPDX-License-Identifier: Apache-2.0
// Decides when memory outside the heap, kept alive by small objects inside it, is a reason for a collection.
// || Without this, a program that fills and drops buffers of 1 MiB would exhaust the machine before its handles filled
// a nursery. Bytes are counted where they are allocated; resident memory is never read.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>

#include "gc/options.h"

namespace dhpvm::gc {

class ExternalPressure {
 public:
  using Clock = std::chrono::steady_clock;

  // `budget`: the program's off-heap limit in bytes; 0 if unknown.
  explicit ExternalPressure(std::size_t budget);

  void add(std::size_t bytes) {
    live_ += bytes;
    young_ += bytes;
  }
  void remove(std::size_t bytes) { live_ -= bytes < live_ ? bytes : live_; }
  std::size_t live() const { return live_; }

  // The collection that is due now, if any. Collections that this class asked for may take 5 % of the time (10 % if the
  // last one freed much), and each one that frees little doubles the bytes that the next minor one waits for: a program
  // whose buffers are all in use gains nothing from repeated collections. One that drops its buffers gains much from
  // collecting early, because it gets memory back that is still in the caches, where new memory would have to be
  // cleared page by page.
  std::optional<CollectionKind> due(Clock::time_point now) const;

  // After each collection, whatever its reason.
  void collected(CollectionKind kind, CollectionReason reason, std::size_t live_before,
                 Clock::time_point begin, Clock::time_point end);

 private:
  // The first limit of young bytes, and the largest.
  std::size_t least_young() const;
  std::size_t most_young() const;

  std::size_t budget_;
  std::size_t live_ = 0;
  std::size_t young_ = 0;  // added since the last collection
  std::size_t live_after_full_ = 0;
  std::size_t young_limit_;
  Clock::time_point not_before_{};
};

}  // namespace dhpvm::gc
