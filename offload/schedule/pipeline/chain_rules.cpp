// SPDX-License-Identifier: Apache-2.0
#include "offload/schedule/pipeline/chain_rules.h"

#include <optional>
#include <vector>

#include "base/error.h"
#include "offload/loops/range.h"
#include "offload/schedule/pipeline/pipeline.h"
#include "offload/schedule/pipeline/stage_load.h"

namespace dhpvm::offload {
namespace {

// Longer chains have so many arrays in a chunk that hardly anything more is gained.
constexpr std::size_t kLongestChainInSlices = 16;

// A loop does not have to begin early for transfers of so few bytes.
constexpr std::uint64_t kLittle = 256 << 10;

// Whether all arrays are on the device as wholes, and transfers take too little time to begin at once.
bool is_little(const RunPlan& plan) {
  return plan.slice_budget == 0 && plan.upload_bytes + plan.download_bytes <= kLittle;
}

// The accesses of all loops to an array that one of them writes.
struct Movement {
  std::optional<RowSpan> span = RowSpan();  // nothing: the accesses do not move together
  std::size_t loops = 0;                    // that touch it
};

}  // namespace

bool can_wait_in_slices(const RunPlan& plan) {
  return plan.can_wait && plan.slice_budget != 0 && can_be_split(plan);
}

bool can_wait_as_whole(const RunPlan& plan) { return plan.can_wait && is_little(plan); }

bool can_wait_unplanned(const PipelineDevice& device, const Loop& loop) {
  std::uint64_t bytes = 0;
  for (std::size_t n = 0; n < loop.arrays.size(); ++n) {
    const LoopArray array = loop.array(n);
    if (array.buffer == nullptr) return false;
    // The plan decides whether the device can run loops with two names of an array.
    for (std::size_t other = 0; other < n; ++other) {
      if (array.overlaps(loop.array(other))) return false;
    }
    bytes += array.bytes();
  }
  // The arrays travel at most there and back, and as many such loops as may form a chain fit the device.
  return 2 * bytes <= kLittle && kLongestChainOfWholes * kLittle <= device.blocks().budget();
}

bool can_end_chain(const RunPlan& plan) { return plan.arrays_can_wait && is_little(plan); }

std::string why_apart(Loops loops, const RunPlan& plan, std::uint64_t bytes) {
  if (loops.size() > kLongestChainInSlices)
    return fmt::format("{} loops run together at most", kLongestChainInSlices);
  const IterationSpace& space = loops[0].space;
  if (loops.back().space.low[0] != space.low[0] || loops.back().space.high[0] != space.high[0])
    return "its outermost dimension has other bounds";
  if (!can_wait_in_slices(plan)) return "some arrays of the two cannot go through together in slices";
  if (plan.slice_budget / (kSlots * plan.row_slice_bytes) < 2)
    return "not even two rows of all their arrays fit into the device's memory";
  if (plan.upload_bytes + plan.download_bytes >= bytes) return "they share no data";

  std::vector<Movement> movements(plan.arrays.size());
  std::size_t first = 0;
  for (const Loop& loop : loops) {
    Ranges ranges(*loop.footprint, loop);
    for (std::uint32_t n = 0; n < loop.arrays.size(); ++n) {
      const std::uint32_t array = plan.captures.array_of[first + n];
      if (plan.needs[array].writes.empty() || loop.arrays[n].shape.length <= 0) continue;
      Movement& movement = movements[array];
      bool touches = false;
      for (const bool written : {false, true}) {
        const std::optional<RowSpan> span = ranges.row_span(n, written);
        if (!span) {
          movement.span.reset();
          touches = true;
        } else if (!span->offsets.empty()) {
          touches = true;
          if (movement.span && !movement.span->include(*span)) movement.span.reset();
        }
      }
      movement.loops += touches ? 1 : 0;
    }
    first += loop.arrays.size();
  }
  for (const Movement& movement : movements) {
    // Within one loop no iteration reads what another one writes, so this concerns several loops.
    if (movement.loops > 1 && !(movement.span && movement.span->is_disjoint()))
      return "a chunk of the one needs, or changes, what another chunk of the other works on";
  }
  return {};
}

}  // namespace dhpvm::offload
