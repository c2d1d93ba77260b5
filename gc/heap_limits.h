// SPDX-License-Identifier: Apache-2.0
// The sizes at which a heap collects: when the next full collection is due, and how far the heap may grow before it.
#pragma once

#include <cstddef>

#include "gc/growth.h"
#include "gc/options.h"

namespace dhpvm::gc {

// The figures of a heap that its limits depend on, in bytes.
struct HeapSize {
  std::size_t live = 0;       // large objects, and what the last collection found in blocks
  std::size_t footprint = 0;  // memory from the system that holds objects; the rest of it is holes
  std::size_t nursery = 0;    // allocations between two minor collections
};

class HeapLimits {
 public:
  // `options` must outlive this.
  explicit HeapLimits(const HeapOptions& options)
      : options_(options), growth_(options.growth), limit_(options.limit_bytes) {}

  // Sets the thresholds for a new heap, and after a full collection.
  void set(HeapSize size);
  // After a full collection that was due: the next thresholds take its cost into account.
  void collected(std::size_t live_before, Growth::Clock::time_point begin, Growth::Clock::time_point end);
  // A full collection has left holes that are too small: raises the limit by the holes that remain, so that the heap
  // counts as full only when live objects fill half of it.
  void raise(HeapSize size);
  // Lets a heap that occupies more than the threshold grow a little more.
  void allow_more(HeapSize size);

  // Whether the heap may grow by `bytes` before the next full collection; `is_marking`: while a minor collection runs
  // in parts.
  bool may_grow(HeapSize size, std::size_t bytes, bool is_marking) const;
  // Whether a heap of this footprint is within its limit, whatever its thresholds say.
  bool is_within_limit(std::size_t footprint) const { return limit_ == 0 || footprint <= limit_; }
  bool is_above_threshold(std::size_t footprint) const { return footprint > footprint_threshold_; }
  // Whether the limit alone decides when the next full collection is due.
  bool is_limit_near() const { return limit_ != 0 && footprint_threshold_ == limit_; }
  // Whether a full collection is due before more minor ones. `live`: without large objects since the last collection.
  bool is_full_due(std::size_t live, std::size_t nursery) const { return live + nursery > live_threshold_; }
  // A heap near its limit has little room, and uses it up before the nursery's budget. Most of what it has just
  // allocated is garbage all the same, so a minor collection comes first, unless it cannot free 1/64 of the limit.
  // `allocated`: bytes opened since the last one.
  bool is_worth_a_minor(std::size_t allocated) const { return allocated > options_.limit_bytes / 256; }
  // With less than 1/64 left even after a full collection, a full collection would come every few allocations: it is
  // better to give up early.
  bool is_nearly_full(std::size_t live) const { return limit_ != 0 && live > limit_ - limit_ / 64; }

  // The bytes that a nursery above the first size may have.
  std::size_t nursery_room() const { return nursery_room_; }
  // The bytes that have become old since the last full collection.
  std::size_t grown(std::size_t live) const { return live < live_after_full_ ? 0 : live - live_after_full_; }

 private:
  std::size_t limit_for_holes(HeapSize size) const;

  const HeapOptions& options_;
  Growth growth_;
  // The limit of the footprint: options_.limit_bytes, or more while the heap is full of holes. 0: none.
  std::size_t limit_;
  std::size_t live_after_full_ = 0;
  std::size_t live_threshold_ = 0;  // see set()
  std::size_t footprint_threshold_ = 0;
  std::size_t nursery_room_ = 0;
};

}  // namespace dhpvm::gc
