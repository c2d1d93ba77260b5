// SPDX-License-Identifier: Apache-2.0
// Runs a loop on a device in batches: chooses their size, overlaps transfers and computation, and combines
// the results. Neither the results nor the trap that is reported depend on the batches.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "dhpvm/result.h"
#include "offload/loops/loop_progress.h"
#include "offload/schedule/pipeline/device_run.h"
#include "offload/schedule/pipeline/pipeline_device.h"
#include "offload/schedule/pipeline/run_plan.h"

namespace dhpvm::offload {

// The most chunks that are submitted ahead: enough to keep a device busy while the host is held up.
inline constexpr std::size_t kChunksInFlight = 64;

inline bool has_trapped(const codegen::KernelReport& report) {
  return report.status == static_cast<std::uint32_t>(codegen::KernelStatus::kTrapped);
}

// The outcome of a loop, for statistics and explanations.
struct PipelineOutcome {
  // The loop still runs, which its arrays know. Otherwise it has ended.
  bool in_flight = false;
  codegen::KernelReport report;  // of a loop that has ended
  std::uint64_t chunks = 0;
  std::uint64_t redone = 0;  // chunks of these that an idle device did again, because another was slow
  std::uint64_t rows_per_chunk = 0;
  std::uint64_t upload_bytes = 0;
  std::uint64_t download_bytes = 0;
  bool sliced = false;
  std::uint32_t trapped_on = 0;       // the part whose report it is; the number of parts: the host
  std::vector<std::uint64_t> shares;  // iterations of each part, and of the host
  // The failures of devices whose work others have done.
  std::vector<Error> failures;
};

// Why a loop could not be run on a device, or was given up there.
struct PipelineFailure {
  Error error;
  // The iterations left for the host, which has all that it needs for them: the whole loop if nothing has been
  // computed. Nothing: some arrays have neither their old nor their new contents.
  std::optional<std::vector<IterationSpace>> remaining;
};

// A device that takes part in a loop, and the loop's kernel there.
struct Part {
  PipelineDevice* device = nullptr;
  std::shared_ptr<Kernel> kernel;
  // The loop's plan there, if one was made since the last operation on its arrays. Otherwise it is made when the loop
  // begins.
  std::optional<RunPlan> plan;
};

// Returns the host's cores as a device; null: there is no such device. Called when it is needed.
using HostPart = std::function<std::optional<Part>()>;

// Runs `loop` on one device, or, if it can be split, on several at once, each of which takes the next chunk when it has
// room for one. The others do what a device cannot finish, and then the host does. A chunk has `rows` of the
// outermost dimension; 0: as many as measurements suggest. The initial values of the reductions are in `accumulators`,
// and the results after a loop that did not trap. `progress`, if there is one, counts chunks when one device gets them,
// or when several have done them.
std::variant<PipelineOutcome, PipelineFailure> run_on_devices(std::span<const Part> parts, const Loop& loop,
                                                              std::uint64_t rows,
                                                              std::span<std::uint64_t> accumulators,
                                                              const HostPart& host,
                                                              LoopProgress* progress = nullptr);

// Whether chunks of the loop may be computed at different places, because no two write the same element. `plan` may be
// for any device.
bool can_be_split(const RunPlan& plan);

}  // namespace dhpvm::offload
