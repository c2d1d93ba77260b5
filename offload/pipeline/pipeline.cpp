// SPDX-License-Identifier: Apache-2.0
#include "offload/pipeline/pipeline.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <variant>

#include "base/error.h"
#include "bytecode/reduction.h"
#include "offload/pipeline/chunk_size.h"

namespace dhpvm::offload {
namespace {

// Chunks that are submitted ahead of the device: enough to keep it busy through every hiccup of the host.
constexpr std::size_t kChunksInFlight = 64;
// As long as nothing is known about a loop's speed, it is cut into this many: fair in most cases.
constexpr std::uint64_t kChunksAtFirst = 16;

// The next rows of `space` from `from` on.
IterationSpace rows_of(const IterationSpace& space, std::uint64_t from, std::uint64_t rows) {
  IterationSpace box = space;
  box.low[0] = static_cast<std::int64_t>(static_cast<std::uint64_t>(space.low[0]) + from);
  const std::uint64_t left = space.extent(0) - from;
  box.high[0] = static_cast<std::int64_t>(static_cast<std::uint64_t>(box.low[0]) + std::min(rows, left));
  return box;
}

// Partial results, one register for each block and reduction of the whole loop.
class Partials {
 public:
  Partials(const DeviceLoop& loop) : loop_(loop) {}
  ~Partials() {
    if (buffer_ != nullptr) buffer_->close();
  }
  Partials(const Partials&) = delete;
  Partials& operator=(const Partials&) = delete;

  Status allocate(BufferPool& pool) {
    if (loop_.reductions.empty()) return {};
    const unsigned inner = loop_.space.inner();
    blocks_ = (loop_.space.extent(inner) + bytecode::kReductionBlock - 1) / bytecode::kReductionBlock;
    for (unsigned d = 0; d < inner; ++d) blocks_ *= loop_.space.extent(d);
    DHPVM_ASSIGN(buffer_, pool.allocate(blocks_ * loop_.reductions.size() * sizeof(std::uint64_t),
                                        BufferContents::kUndefined));
    return {};
  }
  Buffer* buffer() const { return buffer_; }

  void fold(std::span<std::uint64_t> accumulators) const {
    const auto* const values =
        buffer_ == nullptr ? nullptr : reinterpret_cast<const std::uint64_t*>(buffer_->data());
    const std::size_t width = loop_.reductions.size();
    for (std::uint64_t i = 0; i < blocks_ * width; ++i) {
      std::uint64_t& accumulator = accumulators[i % width];
      accumulator = bytecode::combine(loop_.reductions[i % width], accumulator, values[i]);
    }
  }

 private:
  const DeviceLoop& loop_;
  Buffer* buffer_ = nullptr;
  std::uint64_t blocks_ = 0;
};

}  // namespace

StageLoad load_of(const DeviceLoop& loop, const RunPlan& plan) {
  StageLoad load;
  load.rows = loop.space.extent(0);
  load.iterations = static_cast<double>(*loop.space.count());
  load.upload_bytes = static_cast<double>(plan.upload_bytes);
  load.download_bytes = static_cast<double>(plan.download_bytes);
  for (const ArrayPlan& array : plan.arrays) {
    if (array.placement == Placement::kUnused || array.placement == Placement::kShared) continue;
    load.uploads += array.reads.empty() && array.overwritten ? 0 : 1;
    load.downloads += array.send_back && array.by_chunk ? 1 : 0;
  }
  return load;
}

StageModels models_of(PipelineDevice& device, const DeviceLoop& loop) {
  StageModels models{device.model().upload(), device.model().download(), device.model().launch(loop.label)};
  models.one_copy_engine = device.info().copy_engines < 2;
  return models;
}

std::uint64_t rows_for(PipelineDevice& device, const DeviceLoop& loop, const RunPlan& plan) {
  const std::uint64_t all = loop.space.extent(0);
  std::uint64_t most = all;
  if (plan.slice_budget != 0)
    most = std::max<std::uint64_t>(plan.slice_budget / (3 * plan.row_slice_bytes + 1), 1);
  // Without transfers there is nothing to overlap.
  if (!device.overlaps() || (plan.upload_bytes == 0 && plan.download_bytes == 0)) return most;
  const StageModels models = models_of(device, loop);
  if (!models.launch.known()) return std::min(most, std::max<std::uint64_t>(all / kChunksAtFirst, 1));
  return choose_rows(load_of(loop, plan), models, most);
}

namespace {

PipelineFailure nothing_done(Error error, const DeviceLoop& loop) {
  return {std::move(error), std::vector<IterationSpace>(1, loop.space)};
}

}  // namespace

std::variant<PipelineOutcome, PipelineFailure> run_on_device(PipelineDevice& device, const DeviceLoop& loop,
                                                             const std::shared_ptr<Kernel>& kernel,
                                                             std::uint64_t rows,
                                                             std::span<std::uint64_t> accumulators) {
  Result<RunPlan> plan = plan_run(device, loop);
  if (!plan.ok()) return nothing_done(std::move(plan).error(), loop);
  PipelineOutcome outcome;
  outcome.upload_bytes = plan->upload_bytes;
  outcome.download_bytes = plan->download_bytes;
  outcome.sliced = plan->slice_budget != 0;
  if (rows == 0) rows = rows_for(device, loop, *plan);
  Partials partials(loop);
  if (Status status = partials.allocate(device.pool()); !status.ok()) {
    return nothing_done(std::move(status).error(), loop);
  }
  auto run = DeviceRun::begin(device, loop, std::move(plan).value(), kernel, partials.buffer());
  if (!run.ok()) return nothing_done(std::move(run).error(), loop);
  rows = std::min(rows, (*run)->most_rows());
  if (!loop.reductions.empty() && loop.space.dimensions == 1 && rows < loop.space.extent(0)) {
    constexpr std::uint64_t kBlock = bytecode::kReductionBlock;
    rows = std::max(rows / kBlock, std::uint64_t{1}) * kBlock;
  }
  outcome.rows_per_chunk = std::min(rows, loop.space.extent(0));
  const auto submit_all = [&]() -> Status {
    for (std::uint64_t row = 0; row < loop.space.extent(0); row += rows) {
      DHPVM_TRY((*run)->submit(rows_of(loop.space, row, rows)));
      ++outcome.chunks;
      DHPVM_TRY((*run)->wait_for(kChunksInFlight));
    }
    return (*run)->finish(false);
  };
  if (Status status = submit_all(); !status.ok()) {
    return PipelineFailure{std::move(status).error(), (*run)->give_up()};
  }
  outcome.in_flight = !(*run)->plan().synchronous;
  outcome.report = (*run)->report();
  const bool trapped = outcome.report.status == static_cast<std::uint32_t>(codegen::KernelStatus::kTrapped);
  if (!trapped) partials.fold(accumulators);
  return outcome;
}

}  // namespace dhpvm::offload
