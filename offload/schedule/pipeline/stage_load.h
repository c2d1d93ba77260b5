// SPDX-License-Identifier: Apache-2.0
// The load that loops with a plan put on the stages of the pipeline, and the chunks that follow from it.
#pragma once

#include <cstdint>

#include "offload/schedule/pipeline/chunk_size.h"
#include "offload/schedule/pipeline/pipeline_device.h"
#include "offload/schedule/pipeline/run_plan.h"

namespace dhpvm::offload {

// Slots of the ring of a sliced array: one is filled while another is worked on and a third is emptied.
inline constexpr std::uint64_t kSlots = 3;

// Seconds that an iteration takes at most, as far as that is known before it has been measured; infinity where inner
// loops may take any time.
double longest_iteration(const Loop& loop);

StageLoad load_of(Loops loops, const RunPlan& plan);
// The measured models of the stages. The launches of several loops count as one.
StageModels models_of(PipelineDevice& device, Loops loops);
// The rows that a chunk should have, by what is known about device and loops.
std::uint64_t rows_for(PipelineDevice& device, Loops loops, const RunPlan& plan);
// Rows a second in chunks of `rows`, by what is known about device and loops; 0: nothing is known of the loops.
double expected_rate(PipelineDevice& device, Loops loops, const RunPlan& plan, std::uint64_t rows);
// At most so many rows make a chunk that the device is done with soon.
std::uint64_t soon_done_rows(PipelineDevice& device, Loops loops);
// At most so many rows make a chunk that fits the slots.
std::uint64_t most_rows(Loops loops, const RunPlan& plan);
// About `rows`, and at most `most`, in whole units if there is room for one.
std::uint64_t in_units(std::uint64_t rows, std::uint64_t unit, std::uint64_t most);

}  // namespace dhpvm::offload
