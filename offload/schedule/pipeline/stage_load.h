// SPDX-License-Identifier: Apache-2.0
// The load of planned loops on the stages of the pipeline, and the chunk sizes that follow from it.
#pragma once

#include <cstdint>

#include "offload/schedule/pipeline/chunk_size.h"
#include "offload/schedule/pipeline/pipeline_device.h"
#include "offload/schedule/pipeline/run_plan.h"

namespace dhpvm::offload {

// Slots of the ring of a sliced array: one is filled while another is worked on and a third is emptied.
inline constexpr std::uint64_t kSlots = 3;

// An upper bound, in seconds, of an iteration's time before it has been measured; infinity if inner loops may take any
// time.
double longest_iteration(const Loop& loop);

StageLoad load_of(Loops loops, const RunPlan& plan);
// The measured models of the stages. The launches of several loops count as one launch.
StageModels models_of(PipelineDevice& device, Loops loops);
// The rows that a chunk should have, from what is known about device and loops.
std::uint64_t rows_for(PipelineDevice& device, Loops loops, const RunPlan& plan);
// Rows per second in chunks of `rows`, from what is known about device and loops; 0: the loops are unknown.
double expected_rate(PipelineDevice& device, Loops loops, const RunPlan& plan, std::uint64_t rows);
// The most rows in a chunk that the device finishes soon.
std::uint64_t soon_done_rows(PipelineDevice& device, Loops loops);
// The most rows in a chunk that fits the slots.
std::uint64_t most_rows(Loops loops, const RunPlan& plan);
// `rows`, but at most `most`, rounded to whole units if there is room for one.
std::uint64_t in_units(std::uint64_t rows, std::uint64_t unit, std::uint64_t most);

}  // namespace dhpvm::offload
