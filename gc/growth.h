// SPDX-License-Identifier: Apache-2.0
// Decides by how many bytes a heap may grow before the next full collection.
//
// The number follows from the cost of the last ones: a program whose full collections take more than a fortieth of
// its time lets its heap grow further, up to a bound in proportion to the live data; where they take less, the heap
// stays smaller.
#pragma once

#include <chrono>
#include <cstddef>

namespace dhpvm::gc {

class Growth {
 public:
  using Clock = std::chrono::steady_clock;

  // `factor` scales the bound.
  explicit Growth(double factor) : factor_(factor) {}

  // The bytes that a heap with `live` bytes may grow by.
  std::size_t bytes(std::size_t live) const;

  // After a full collection that was due. The heap had grown by `grown` bytes since the one before.
  void collected(std::size_t grown, Clock::time_point begin, Clock::time_point end);

 private:
  double factor_;
  // Until a collection has measured its cost, every heap may grow by this: most programs end before that.
  std::size_t wanted_ = std::size_t{32} << 20;
  Clock::time_point last_end_ = Clock::now();
};

}  // namespace dhpvm::gc
