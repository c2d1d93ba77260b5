// SPDX-License-Identifier: Apache-2.0
// Decides which loops may be deferred, and which of them run together, each chunk through all of them.
#pragma once

#include <string>

#include "offload/schedule/pipeline/pipeline_device.h"
#include "offload/schedule/pipeline/run_plan.h"

namespace dhpvm::offload {

// Whether a loop with this plan can be deferred for a chain in slices (ChainWay): it neither traps nor reduces, its
// arrays pass through in slices, and each chunk writes a part of its own.
bool can_wait_in_slices(const RunPlan& plan);

// The same for a chain of wholes, on a device that joins loops: the loop neither traps nor reduces, its arrays are on
// the device as wholes, and its transfers take too little time to begin at once.
bool can_wait_as_whole(const RunPlan& plan);

// Whether can_wait_as_whole() is true for every plan of the loop: all arrays are small, and in buffers of their own.
// Then no plan has to be made, which would cost as much as all else that deferring the loop takes. `loop` neither traps
// nor has a result.
bool can_wait_unplanned(const PipelineDevice& device, const Loop& loop);

// Whether a loop with this plan, whose result the program waits for, can be the last of a chain of wholes: its arrays
// can stay where they are when the waiting is interrupted, and it moves too little to begin before the others.
bool can_end_chain(const RunPlan& plan);

// The most loops in a chain of wholes: no result comes back before the last loop has ended.
inline constexpr std::size_t kLongestChainOfWholes = 64;

// The reason, for people, why the last of `loops` cannot join the others in a chain in slices; empty if it can. `plan`
// is the plan of all loops together, `bytes` the bytes that chain and last loop would move separately.
//
// In a chain, the last loop computes a chunk before the first loop computes the next one. That is correct if no two
// loops access the same element in different chunks: their accesses to an array that changes have to move with the
// outermost index, at offsets less than a stride apart. Arrays that are only read may be read anywhere.
std::string why_apart(Loops loops, const RunPlan& plan, std::uint64_t bytes);

}  // namespace dhpvm::offload
