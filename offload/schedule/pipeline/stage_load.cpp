// SPDX-License-Identifier: Apache-2.0
#include "offload/schedule/pipeline/stage_load.h"

#include <algorithm>
#include <limits>

namespace dhpvm::offload {
namespace {

// The number of chunks for a loop of unknown speed, which is good in most cases.
constexpr std::uint64_t kChunksAtFirst = 16;
// The most seconds that an iteration without inner loops takes.
constexpr double kStraightIteration = 200e-9;

}  // namespace

double longest_iteration(const Loop& loop) {
  const bool is_straight =
      loop.footprint != nullptr && loop.footprint->complete && !loop.footprint->has_inner_loops;
  return is_straight ? kStraightIteration : std::numeric_limits<double>::infinity();
}

StageLoad load_of(Loops loops, const RunPlan& plan) {
  StageLoad load;
  load.rows = loops[0].space.extent(0);
  load.iterations = 0;
  for (const Loop& loop : loops) load.iterations += static_cast<double>(*loop.space.count());
  load.upload_bytes = static_cast<double>(plan.upload_bytes);
  load.download_bytes = static_cast<double>(plan.download_bytes);
  load.launches = static_cast<unsigned>(loops.size());
  for (std::size_t n = 0; n < plan.arrays.size(); ++n) {
    const ArrayPlan& array = plan.arrays[n];
    if (array.placement == Placement::kUnused || array.placement == Placement::kShared) continue;
    load.uploads += plan.needs[n].needed.empty() ? 0 : 1;
    load.downloads += array.send_back && array.by_chunk ? 1 : 0;
  }
  return load;
}

StageModels models_of(PipelineDevice& device, Loops loops) {
  const DeviceModel& model = device.model();
  double fixed = 0;
  double seconds = 0;  // in addition to `models`
  double iterations = 0;
  bool known = true;
  for (const Loop& loop : loops) {
    const LinkModel launch = model.launch(loop.label);
    const auto count = static_cast<double>(*loop.space.count());
    fixed += launch.fixed();
    seconds += launch.per_unit() * count;
    iterations += count;
    known = known && launch.known();
  }
  StageModels models{model.upload(), model.download(), LinkModel(fixed, seconds / iterations)};
  models.launches_known = known;
  models.one_copy_engine = device.info().copy_engines < 2;
  return models;
}

double expected_rate(PipelineDevice& device, Loops loops, const RunPlan& plan, std::uint64_t rows) {
  const StageModels models = models_of(device, loops);
  if (!models.launches_known) return 0;
  const StageLoad load = load_of(loops, plan);
  rows = std::clamp<std::uint64_t>(rows, 1, load.rows);
  return static_cast<double>(load.rows) / predicted_seconds(load, models, (load.rows + rows - 1) / rows);
}

std::uint64_t soon_done_rows(PipelineDevice& device, Loops loops) {
  std::uint64_t rows = loops[0].space.extent(0);
  if (device.info().is_remote) return rows;
  for (const Loop& loop : loops) {
    const std::uint64_t in_row = *loop.space.count() / loop.space.extent(0);
    rows = std::min(rows, device.most_iterations(loop) / loops.size() / std::max<std::uint64_t>(in_row, 1));
  }
  return std::max<std::uint64_t>(rows, 1);
}

std::uint64_t most_rows(Loops loops, const RunPlan& plan) {
  if (plan.slice_budget == 0) return loops[0].space.extent(0);
  // Halos make a slice somewhat larger than its rows: they are rarely more than a row or two on each side. Blocks are
  // up to a quarter larger than requested.
  const std::uint64_t rows = plan.slice_budget / 5 * 4 / (kSlots * plan.row_slice_bytes);
  return std::max<std::uint64_t>(rows > 64 ? rows - rows / 16 - 4 : rows / 2, 1);
}

std::uint64_t in_units(std::uint64_t rows, std::uint64_t unit, std::uint64_t most) {
  rows = std::min(rows, most);
  if (rows >= unit) return rows - rows % unit;
  return unit <= most ? unit : rows;
}

std::uint64_t rows_for(PipelineDevice& device, Loops loops, const RunPlan& plan) {
  const std::uint64_t all = loops[0].space.extent(0);
  std::uint64_t most = all;
  if (plan.slice_budget != 0)
    most = std::max<std::uint64_t>(plan.slice_budget / (kSlots * plan.row_slice_bytes + 1), 1);
  // Without transfers, or with transfers in the queue of the launches, there is nothing to overlap.
  const std::uint64_t bytes = plan.upload_bytes + plan.download_bytes;
  if (!device.overlaps() || bytes == 0 || device.copies_with_launches(bytes)) return most;
  const StageModels models = models_of(device, loops);
  if (!models.launches_known) return std::min(most, std::max<std::uint64_t>(all / kChunksAtFirst, 1));
  return choose_rows(load_of(loops, plan), models, most);
}

}  // namespace dhpvm::offload
