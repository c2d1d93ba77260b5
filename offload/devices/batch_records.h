// SPDX-License-Identifier: Apache-2.0
// Batches that are known by their numbers: whether one repeats one of the last, and which scalars are others now.
//
// Whatever else there is to a batch belongs to its record, so that a record is never out of date: kernels and memories
// are in it by numbers that are never used twice. One with an array that was swapped, resized or closed and made anew
// is another batch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "offload/devices/operation.h"

namespace dhpvm::offload {

// Used by one thread at a time.
class BatchRecords {
 public:
  // The objects of a device.
  class Numbers {
   public:
    virtual std::uint64_t of(const Kernel& kernel) const = 0;
    // Nothing: a recording does not know the place of this memory, so that any other will do.
    virtual std::optional<std::uint64_t> of(const DeviceMemory& memory) const = 0;

   protected:
    ~Numbers() = default;
  };
  struct Change {
    std::size_t step = 0;
    std::size_t scalar = 0;  // of all that the batch has, in order
    std::uint64_t value = 0;
  };
  struct Entry {
    std::size_t place = 0;
    bool is_new = true;           // in the place of the batch that has not come for longest
    std::vector<Change> changes;  // since it came before
  };

  // Knows the last batches, as many as there are places. `numbers` must outlive it.
  BatchRecords(const Numbers& numbers, std::size_t places) : numbers_(numbers), kept_(places) {}
  // The steps are launches and copies. `queue` tells apart those of several queues.
  Entry enter(std::uint64_t queue, const std::vector<Operation>& steps);

 private:
  struct Kept {
    std::vector<std::uint64_t> shape;  // all but scalars and contents; empty: the place is free
    std::vector<std::uint64_t> scalars;
    std::uint64_t used = 0;  // when, in batches
  };
  void describe(std::uint64_t queue, const std::vector<Operation>& steps);
  void add(const MemorySpan& span);
  void add_launch(const Operation& launch);

  const Numbers& numbers_;
  std::vector<Kept> kept_;  // by place
  Kept asked_;
  std::uint64_t batches_ = 0;
};

}  // namespace dhpvm::offload
