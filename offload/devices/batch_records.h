// SPDX-License-Identifier: Apache-2.0
// Recognises repeated batches: whether a batch repeats one of the last, and which of its scalars have changed.
//
// Everything but the scalars and contents is compared, so a record is never out of date: it holds kernels and memories
// by numbers that are never reused. A batch with an array that was swapped, resized, or closed and made anew is a
// different batch.
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
  // Numbers the objects of a device.
  class Numbers {
   public:
    virtual std::uint64_t of(const Kernel& kernel) const = 0;
    // Nothing if a recording does not depend on the place of this memory: any other memory matches it.
    virtual std::optional<std::uint64_t> of(const DeviceMemory& memory) const = 0;

   protected:
    ~Numbers() = default;
  };
  struct Change {
    std::size_t step = 0;
    std::size_t scalar = 0;  // counted through all steps of the batch
    std::uint64_t value = 0;
  };
  struct Entry {
    std::size_t place = 0;
    bool is_new = true;           // takes the place of the least recently used batch
    std::vector<Change> changes;  // since it was last entered
  };

  // Remembers the last `places` batches. `numbers` must outlive it.
  BatchRecords(const Numbers& numbers, std::size_t places) : numbers_(numbers), kept_(places) {}
  // The steps must be launches and copies. Batches of different queues are different; `queue` is its number.
  Entry enter(std::uint64_t queue, const std::vector<Operation>& steps);

 private:
  struct Kept {
    std::vector<std::uint64_t> shape;  // everything except scalars and contents; empty: the place is free
    std::vector<std::uint64_t> scalars;
    std::uint64_t used = 0;  // the number of the last batch that used it
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
