// SPDX-License-Identifier: Apache-2.0
// Loops as devices are given them, and what a chunk of their iterations needs and changes of each array.
//
// Mostly it is one loop. Several run together chunk by chunk: all of them on the first chunk, then all of them on the
// second; they have the same indices in the outermost dimension, along which chunks are cut.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "bytecode/module.h"
#include "codegen/kernel_abi.h"
#include "offload/loops/footprint.h"
#include "offload/loops/iteration_space.h"
#include "offload/loops/range.h"
#include "offload/schedule/memory/buffer.h"
#include "offload/schedule/pipeline/interval_set.h"

namespace dhpvm::offload {

// A captured array. `host` describes it as if nothing of it were on its way: with its full lengths.
struct LoopArray {
  codegen::KernelArray host;
  std::uint32_t element_bytes = 0;
  Buffer* buffer = nullptr;  // null: memory that is not in the pool

  std::uint64_t bytes() const {
    return host.length <= 0 ? 0 : static_cast<std::uint64_t>(host.length) * element_bytes;
  }
};

// One execution of a loop. What it refers to must stay until the loop is done or in flight.
struct DeviceLoop {
  const Footprint* footprint = nullptr;
  IterationSpace space;  // not empty, and with a count
  std::span<const std::uint64_t> scalars;
  std::span<const LoopArray> arrays;
  std::span<const bytecode::Reduction> reductions;
  bool can_trap = true;
  std::uint64_t label = 0;    // the same for all executions of the loop
  std::string_view position;  // in the source, "blur.dhp:12": for messages
};
using Loops = std::span<const DeviceLoop>;

// The next rows of `space` from `from` on: indices of the outermost dimension, counted from its low bound.
IterationSpace rows_of(const IterationSpace& space, std::uint64_t from, std::uint64_t rows);
// The part of `loop` that has the indices of `box` in the outermost dimension.
IterationSpace box_of(const DeviceLoop& loop, const IterationSpace& box);

// Captured arrays of all loops, numbered through: which of the distinct arrays each is.
struct Captures {
  std::vector<std::uint32_t> array_of;  // by capture
  std::vector<codegen::KernelArray> described;
  std::vector<LoopArray> arrays;  // the distinct ones, as they were captured first
};

// An array under several names is one array.
Captures captures_of(Loops loops);

// What a chunk does with an array, in bytes.
struct ArrayNeeds {
  IntervalSet
      needed;      // what must be there before: all that is read, or lies between elements that are written
  Interval reads;  // of what was there before
  Interval writes;
  Interval touched;  // all of it
};

// Put together loop after loop. What a loop overwrites need not be there for those after it.
class NeedsCollector {
 public:
  explicit NeedsCollector(const Captures& captures)
      : captures_(captures), needs_(captures.arrays.size()), made_(captures.arrays.size()) {}

  // `ranges` are those of the loop, or of the chunk's part of it; its captures begin with number `first`.
  void add(const DeviceLoop& loop, std::size_t first, Ranges& ranges);
  // By distinct array.
  std::vector<ArrayNeeds> take() && { return std::move(needs_); }

 private:
  const Captures& captures_;
  std::vector<ArrayNeeds> needs_;
  std::vector<IntervalSet> made_;  // overwritten by the loops so far
};
std::vector<ArrayNeeds> needs_of(Loops loops, const Captures& captures, const IterationSpace& box);

}  // namespace dhpvm::offload
