// SPDX-License-Identifier: Apache-2.0
// The bytes of each array that a chunk of iterations needs and changes.
//
// There is mostly one loop. Several deferred ones run together chunk by chunk: all of them on the first chunk, then all
// of them on the second. They have the same indices in the outermost dimension, along which chunks are cut.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "offload/loops/iteration_space.h"
#include "offload/loops/loop.h"
#include "offload/loops/range.h"
#include "offload/schedule/memory/buffer.h"
#include "offload/schedule/pipeline/interval_set.h"

namespace dhpvm::offload {

// The next rows of `space` from `from` on: indices of the outermost dimension, counted from its low bound.
IterationSpace rows_of(const IterationSpace& space, std::uint64_t from, std::uint64_t rows);
// The part of `loop` that has the indices of `box` in the outermost dimension.
IterationSpace box_of(const Loop& loop, const IterationSpace& box);

// The captured arrays of all loops, numbered consecutively, and the distinct array that each one is.
struct Captures {
  std::vector<std::uint32_t> array_of;  // by capture
  std::vector<LoopArray> arrays;        // the distinct ones, described as at their first capture
};

// An array under several names is one array.
Captures captures_of(Loops loops);

// The bytes of an array that a chunk needs and changes.
struct ArrayNeeds {
  // Bytes that the copy must have before the chunk: those that are read, or that lie between elements that are written.
  IntervalSet needed;
  Interval reads;  // of contents from before the chunk
  Interval writes;
  Interval touched;  // reads and writes
  // Some of `writes` may stay as it is: another chunk may read that.
  bool has_gaps = false;
};

// Collects the needs of loop after loop. Bytes that a loop overwrites need not be there for later loops.
class NeedsCollector {
 public:
  explicit NeedsCollector(const Captures& captures)
      : captures_(captures), needs_(captures.arrays.size()), made_(captures.arrays.size()) {}

  // `ranges`: those of the loop, or of the chunk's part of it. `first`: the number of the loop's first capture.
  void add(const Loop& loop, std::size_t first, Ranges& ranges);
  // By distinct array.
  std::vector<ArrayNeeds> take() && { return std::move(needs_); }

 private:
  const Captures& captures_;
  std::vector<ArrayNeeds> needs_;
  std::vector<IntervalSet> made_;  // bytes overwritten by the loops so far
};
std::vector<ArrayNeeds> needs_of(Loops loops, const Captures& captures, const IterationSpace& box);

}  // namespace dhpvm::offload
