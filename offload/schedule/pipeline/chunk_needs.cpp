// SPDX-License-Identifier: Apache-2.0
#include "offload/schedule/pipeline/chunk_needs.h"

#include <algorithm>

namespace dhpvm::offload {
namespace {

Interval in_bytes(const Elements& elements, std::uint32_t element_bytes) {
  if (elements.end <= elements.begin) return {};
  return {static_cast<std::uint64_t>(elements.begin) * element_bytes,
          static_cast<std::uint64_t>(elements.end) * element_bytes};
}

}  // namespace

IterationSpace rows_of(const IterationSpace& space, std::uint64_t from, std::uint64_t rows) {
  IterationSpace box = space;
  box.low[0] = static_cast<std::int64_t>(static_cast<std::uint64_t>(space.low[0]) + from);
  const std::uint64_t left = space.extent(0) - from;
  box.high[0] = static_cast<std::int64_t>(static_cast<std::uint64_t>(box.low[0]) + std::min(rows, left));
  return box;
}

IterationSpace box_of(const Loop& loop, const IterationSpace& box) {
  IterationSpace part = loop.space;
  part.low[0] = box.low[0];
  part.high[0] = box.high[0];
  return part;
}

Captures captures_of(Loops loops) {
  Captures captures;
  for (const Loop& loop : loops) {
    for (std::size_t n = 0; n < loop.arrays.size(); ++n) {
      const LoopArray array = loop.array(n);
      const auto known = std::ranges::find_if(captures.arrays, [&](const LoopArray& other) {
        return array.bytes() != 0 && other.host.data == array.host.data;
      });
      captures.array_of.push_back(static_cast<std::uint32_t>(known - captures.arrays.begin()));
      if (known == captures.arrays.end()) captures.arrays.push_back(array);
    }
  }
  return captures;
}

void NeedsCollector::add(const Loop& loop, std::size_t first, Ranges& ranges) {
  // An array may have several names in a loop: other names may read first what one of them overwrites.
  std::vector<std::pair<std::uint32_t, Interval>> overwritten;
  for (std::uint32_t n = 0; n < loop.arrays.size(); ++n) {
    const codegen::ArrayShape& shape = loop.arrays[n].shape;
    if (shape.length <= 0) continue;
    const std::uint32_t array = captures_.array_of[first + n];
    const std::uint32_t element_bytes = loop.storage[n].element_bytes;
    ArrayNeeds& need = needs_[array];
    const Interval reads = in_bytes(ranges.reads(n), element_bytes);
    Interval writes;
    if (shape.writable > 0) writes = in_bytes(ranges.writes(n), element_bytes);
    for (const Interval& piece : made_[array].missing(reads)) {
      need.needed.add(piece);
      need.reads = hull(need.reads, piece);
    }
    // A loop that traps leaves some of the elements as they were.
    if (!writes.empty() && !loop.can_trap && ranges.overwrites(n)) {
      overwritten.emplace_back(array, writes);
    } else {
      for (const Interval& piece : made_[array].missing(writes)) need.needed.add(piece);
    }
    need.writes = hull(need.writes, writes);
    need.touched = hull(need.touched, hull(reads, writes));
  }
  for (const auto& [array, writes] : overwritten) made_[array].add(writes);
  // All of `writes` is sent back, including what lies between the parts that several loops or names write.
  for (std::size_t n = 0; n < loop.arrays.size(); ++n) {
    const std::uint32_t array = captures_.array_of[first + n];
    for (const Interval& piece : made_[array].missing(needs_[array].writes)) {
      needs_[array].needed.add(piece);
      needs_[array].has_gaps = true;
    }
  }
}

std::vector<ArrayNeeds> needs_of(Loops loops, const Captures& captures, const IterationSpace& box) {
  NeedsCollector collector(captures);
  std::size_t first = 0;
  for (const Loop& loop : loops) {
    Ranges ranges(*loop.footprint, {box_of(loop, box), loop.scalars, loop.arrays});
    collector.add(loop, first, ranges);
    first += loop.arrays.size();
  }
  return std::move(collector).take();
}

}  // namespace dhpvm::offload
