// SPDX-License-Identifier: Apache-2.0
#include "offload/schedule/placement/cost_model.h"

#include <algorithm>

#include "base/error.h"
#include "offload/devices/device_base.h"
#include "offload/schedule/pipeline/array_copies.h"
#include "offload/schedule/pipeline/pipeline.h"

namespace dhpvm::offload {

namespace {

// Only the inputs that the device lacks are sent.
double smallest_part_seconds(PipelineDevice& device, const Loop& loop, const RunPlan& plan,
                             const StageModels& models) {
  const Loops loops{&loop, 1};
  const std::vector<ArrayNeeds> needs = needs_of(loops, plan.captures, rows_of(loop.space, 0, 1));
  double seconds = models.launch.fixed();
  for (std::size_t n = 0; n < plan.arrays.size(); ++n) {
    const ArrayPlan& array = plan.arrays[n];
    if (array.placement == Placement::kUnused || array.placement == Placement::kShared) continue;
    for (const Interval& needed : needs[n].needed.intervals()) {
      std::vector<Interval> missing{needed};
      if (array.placement == Placement::kResident && array.array.buffer != nullptr) {
        ArrayCopies& copies = ArrayCopies::of(*array.array.buffer);
        missing = copies.contents().missing(copies.on(device), needed);
      }
      for (const Interval& part : missing) seconds += models.upload.seconds(static_cast<double>(part.size()));
    }
    if (!needs[n].writes.empty())
      seconds += models.download.seconds(static_cast<double>(needs[n].writes.size()));
  }
  return seconds;
}

}  // namespace

DeviceEstimate estimate(PipelineDevice& device, const Loop& loop, const RunPlan& plan) {
  const StageLoad load = load_of({&loop, 1}, plan);
  StageModels models = models_of(device, {&loop, 1});
  DeviceEstimate result;
  result.upload_bytes = plan.upload_bytes;
  result.download_bytes = plan.download_bytes;
  result.is_guess = !models.launches_known;
  // A kernel that was never measured is assumed to be quick; otherwise it would never be tried.
  if (result.is_guess) models.launch = LinkModel(5e-6, 0);
  const double up = load.upload_bytes > 0
                        ? load.uploads * models.upload.fixed() + models.upload.per_unit() * load.upload_bytes
                        : 0;
  const double down = load.download_bytes > 0 ? load.downloads * models.download.fixed() +
                                                    models.download.per_unit() * load.download_bytes
                                              : 0;
  result.transfer_seconds = models.one_copy_engine ? up + down : std::max(up, down);
  result.kernel_seconds = models.launch.seconds(load.iterations);
  const std::uint64_t rows = rows_for(device, {&loop, 1}, plan);
  result.total_seconds = predicted_seconds(load, models, (load.rows + rows - 1) / rows);
  if (can_be_split(plan)) result.least_seconds = smallest_part_seconds(device, loop, plan, models);
  return result;
}

std::string seconds_text(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.1f} us", seconds * 1e6);
  return seconds < 1 ? fmt::format("{:.2f} ms", seconds * 1e3) : fmt::format("{:.2f} s", seconds);
}

std::string describe(const DeviceEstimate& estimate) {
  return fmt::format("{} (transfers {}, {} up and {} down; kernel {})", seconds_text(estimate.total_seconds),
                     seconds_text(estimate.transfer_seconds), bytes_text(estimate.upload_bytes),
                     bytes_text(estimate.download_bytes),
                     estimate.is_guess ? "not known yet" : seconds_text(estimate.kernel_seconds));
}

}  // namespace dhpvm::offload
