// SPDX-License-Identifier: Apache-2.0
// Decides which loops may be deferred, and which run together: a chunk passes all of them while it is on the device.
#pragma once

#include <string>

#include "offload/schedule/pipeline/pipeline_device.h"
#include "offload/schedule/pipeline/run_plan.h"

namespace dhpvm::offload {

// Whether a loop with this plan may run later than the program comes to it, together with others: it can only
// end well, its arrays go through in slices, and each chunk writes a part of its own.
bool may_be_deferred(const RunPlan& plan);

// Whether a loop with this plan, on a device that joins loops, may wait for others: it can only end well, its arrays
// are there as wholes, and what it has to move takes too little time to begin at once.
bool may_be_told_with_others(const RunPlan& plan);

// Whether the same can be told without a plan, which costs as much as the rest of deferring the loop: all arrays are in
// buffers of their own, and small whatever the loop does with them. `loop` neither traps nor has a result.
bool may_surely_wait(const PipelineDevice& device, const Loop& loop);

// Whether a loop with this plan may run with loops that wait for others, as their last, though the program waits for
// its result: its arrays can stay where they are when the waiting is interrupted, and it moves too little to begin
// before them.
bool may_come_last(const RunPlan& plan);

// The most loops that run as wholes together: their results come back when the last one has ended.
inline constexpr std::size_t kMostToldTogether = 64;

// Why the last of `loops` cannot run together with those before it, which can, for people: "...". Empty if it
// can. `plan` is that of all together, `bytes` is what those before would move by themselves, and what the
// last would.
//
// Together, a loop comes to a chunk before those ahead of it have come to the next one. That is correct if no
// two loops access the same element in different chunks: all that they do with an array that
// changes has to move together with the outermost index, with offsets that are less than a stride apart.
// Arrays that are only read may be read anywhere.
std::string why_apart(Loops loops, const RunPlan& plan, std::uint64_t bytes);

}  // namespace dhpvm::offload
