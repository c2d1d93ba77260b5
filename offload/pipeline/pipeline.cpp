// SPDX-License-Identifier: Apache-2.0
#include "offload/pipeline/pipeline.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <mutex>
#include <numeric>
#include <thread>
#include <utility>
#include <variant>

#include "base/error.h"
#include "bytecode/reduction.h"
#include "offload/device/host_code.h"
#include "offload/pipeline/chunk_size.h"

namespace dhpvm::offload {
namespace {

// Chunks that are submitted ahead of the device: enough to keep it busy through every hiccup of the host.
constexpr std::size_t kChunksInFlight = 64;
// Where several devices share a loop, chunks are given out late, to whoever is quickest.
constexpr std::size_t kSharedChunksInFlight = 2;
// What a device takes next is at least this part of what it has done already.
constexpr std::uint64_t kLeastShare = 64;
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

  void fold(std::span<std::uint64_t> accumulators) const { fold(accumulators, blocks_); }
  void fold(std::span<std::uint64_t> accumulators, std::uint64_t blocks) const {
    const auto* const values =
        buffer_ == nullptr ? nullptr : reinterpret_cast<const std::uint64_t*>(buffer_->data());
    const std::size_t width = loop_.reductions.size();
    for (std::uint64_t i = 0; i < blocks * width; ++i) {
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

bool can_be_split(const RunPlan& plan) {
  return std::ranges::all_of(plan.arrays,
                             [](const ArrayPlan& array) { return array.writes.empty() || array.by_chunk; });
}

namespace {

bool trapped(const codegen::KernelReport& report) {
  return report.status == static_cast<std::uint32_t>(codegen::KernelStatus::kTrapped);
}

// What is still to be done, handed out piece by piece to the threads of the devices.
class Rows {
 public:
  Rows(const DeviceLoop& loop)
      : unit_(loop.space.dimensions == 1 && !loop.reductions.empty() ? bytecode::kReductionBlock : 1),
        boxes_{loop.space} {}

  std::uint64_t left() {
    const std::lock_guard lock(mutex_);
    std::uint64_t rows = 0;
    for (const IterationSpace& box : boxes_) rows += box.extent(0);
    return rows;
  }
  std::optional<IterationSpace> take(std::uint64_t rows) {
    const std::lock_guard lock(mutex_);
    if (boxes_.empty()) return std::nullopt;
    // Cuts lie at multiples of the unit from the loop's low bound, as those of every box do.
    rows = std::max((rows + unit_ - 1) / unit_, std::uint64_t{1}) * unit_;
    IterationSpace& box = boxes_.back();
    const IterationSpace piece = rows_of(box, 0, rows);
    box.low[0] = piece.high[0];
    if (box.empty()) boxes_.pop_back();
    return piece;
  }
  void give_back(const std::vector<IterationSpace>& boxes) {
    const std::lock_guard lock(mutex_);
    boxes_.insert(boxes_.end(), boxes.begin(), boxes.end());
  }
  // Nobody touches it any more.
  std::vector<IterationSpace> rest() && { return std::move(boxes_); }

 private:
  const std::uint64_t unit_;
  std::mutex mutex_;
  std::vector<IterationSpace> boxes_;  // none is empty
};

// One execution of a loop on one device or several.
class Execution {
 public:
  Execution(std::span<const Part> parts, const DeviceLoop& loop, std::uint64_t rows)
      : parts_(parts), loop_(loop), wanted_rows_(rows), rows_(loop), partials_(loop), done_(parts.size()) {
    outcome_.shares.resize(parts.size());
  }

  std::variant<PipelineOutcome, PipelineFailure> run(std::span<std::uint64_t> accumulators) {
    if (Status status = partials_.allocate(parts_[0].device->pool()); !status.ok())
      return given_up(status.error(), accumulators);
    // A device that fails leaves its chunks to the others, which may have come to their end by then: one more round.
    std::vector<std::size_t> able(parts_.size());
    std::iota(able.begin(), able.end(), 0);
    while (rows_.left() != 0) {
      if (able.empty() && trapped(outcome_.report)) break;
      if (able.empty()) return given_up(*error_, accumulators);
      if (Status status = run_round(able); !status.ok())
        return PipelineFailure{std::move(status).error(), std::nullopt};
    }
    if (!trapped(outcome_.report)) partials_.fold(accumulators);
    return std::move(outcome_);
  }

 private:
  struct Worker {
    std::size_t part;
    std::unique_ptr<DeviceRun> run;
    std::uint64_t rows = 0;  // of a chunk
    Status status;
    std::uint64_t chunks = 0;
    std::uint64_t iterations = 0;
  };

  // Leaves the rest to the host. The results of reductions depend on the order in which blocks are folded: what has been done
  // is of use if it is the beginning of the loop.
  PipelineFailure given_up(Error error, std::span<std::uint64_t> accumulators) {
    std::vector<IterationSpace> rest = std::move(rows_).rest();
    if (loop_.reductions.empty()) return {std::move(error), std::move(rest)};
    std::ranges::sort(rest, {}, [](const IterationSpace& box) { return box.low[0]; });
    IterationSpace end = rest.front();
    for (const IterationSpace& box : rest) {
      if (box.low[0] == end.low[0] || box.low[0] == end.high[0]) end.high[0] = box.high[0];
    }
    if (end.high[0] == loop_.space.high[0]) {
      partials_.fold(accumulators, DeviceRun::blocks_before(loop_, end));
      return {std::move(error), std::move(rest)};
    }
    if (changes_its_input()) return {std::move(error), std::nullopt};
    return {std::move(error), std::vector<IterationSpace>{loop_.space}};
  }

  bool changes_its_input() const {
    std::vector<codegen::KernelArray> arrays;
    for (const LoopArray& array : loop_.arrays) arrays.push_back(array.host);
    return std::ranges::any_of(needs_of(loop_, loop_.space, arrays).arrays, [](const ChunkNeeds::Part& part) {
      return !part.reads.empty() && !part.writes.empty();
    });
  }

  // Runs what is left on all that are able; takes out those that fail. Fails when the arrays have been lost.
  Status run_round(std::vector<std::size_t>& able) {
    std::vector<Worker> workers;
    for (const std::size_t part : able) begin(part, workers);
    able.clear();
    if (workers.empty()) return {};
    const bool shared = workers.size() > 1;
    for (Worker& worker : workers) parts_[worker.part].device->keep_copies(shared);
    std::vector<std::thread> threads;
    for (std::size_t n = 1; n < workers.size(); ++n) {
      threads.emplace_back([this, &worker = workers[n]] { work(worker, true); });
    }
    work(workers[0], shared);
    for (std::thread& thread : threads) thread.join();
    for (Worker& worker : workers) parts_[worker.part].device->keep_copies(false);
    for (Worker& worker : workers) {
      DHPVM_TRY(end(worker));
      if (worker.status.ok()) able.push_back(worker.part);
    }
    return {};
  }

  void begin(std::size_t part, std::vector<Worker>& workers) {
    PipelineDevice& device = *parts_[part].device;
    Result<RunPlan> plan = plan_run(device, loop_);
    if (!plan.ok()) return note_failure(std::move(plan).error());
    Worker worker;
    worker.part = part;
    worker.rows = wanted_rows_ != 0 ? wanted_rows_ : rows_for(device, loop_, *plan);
    // Whoever shares arrays with others sends back what it computes.
    if (parts_.size() > 1) plan->share();
    outcome_.upload_bytes += plan->upload_bytes;
    outcome_.download_bytes += plan->download_bytes;
    outcome_.sliced = outcome_.sliced || plan->slice_budget != 0;
    auto run =
        DeviceRun::begin(device, loop_, std::move(plan).value(), parts_[part].kernel, partials_.buffer());
    if (!run.ok()) return note_failure(std::move(run).error());
    worker.run = std::move(run).value();
    worker.rows = std::min(worker.rows, worker.run->most_rows());
    outcome_.rows_per_chunk = std::max(outcome_.rows_per_chunk, std::min(worker.rows, loop_.space.extent(0)));
    workers.push_back(std::move(worker));
  }

  void note_failure(Error error) {
    if (error_) outcome_.failures.push_back(std::move(*error_));
    error_ = std::move(error);
  }

  // How many rows a device that shares the loop takes next. As all have begun together, what each has done tells their rates:
  // half of what a device should still get by its own makes chunks smaller towards the end, so that all come to it at the
  // same time; but not so small that they cost more than they bring.
  std::uint64_t fair_rows(const Worker& worker) {
    const std::uint64_t mine = done_[worker.part].load(std::memory_order_relaxed);
    std::uint64_t all = 0;
    for (const std::atomic<std::uint64_t>& rows : done_) all += rows.load(std::memory_order_relaxed);
    const double share = mine == 0 ? 1 / static_cast<double>(parts_.size())
                                   : static_cast<double>(mine) / static_cast<double>(all);
    const auto fair = static_cast<std::uint64_t>(static_cast<double>(rows_.left()) * share / 2) + 1;
    return std::min(worker.rows, std::max(fair, mine / kLeastShare));
  }

  void work(Worker& worker, bool shared) {
    std::deque<std::uint64_t> flying;  // rows of the chunks that are not known to be done
    const auto submit_all = [&]() -> Status {
      for (;;) {
        const std::optional<IterationSpace> box = rows_.take(shared ? fair_rows(worker) : worker.rows);
        if (!box) return worker.run->finish(shared);
        worker.iterations += *box->count();
        ++worker.chunks;
        DHPVM_TRY(worker.run->submit(*box));
        DHPVM_TRY(worker.run->wait_for(shared ? kSharedChunksInFlight : kChunksInFlight));
        flying.push_back(box->extent(0));
        for (; flying.size() > worker.run->in_flight(); flying.pop_front()) {
          done_[worker.part].fetch_add(flying.front(), std::memory_order_relaxed);
        }
      }
    };
    worker.status = submit_all();
  }

  Status end(Worker& worker) {
    outcome_.chunks += worker.chunks;
    outcome_.shares[worker.part] += worker.iterations;
    if (worker.status.ok()) {
      outcome_.in_flight = parts_.size() == 1 && !worker.run->plan().synchronous;
      note_trap(worker);
      return {};
    }
    // Somebody wants the loop to stop, and the device goes on.
    if (!parts_[worker.part].device->failure()) return worker.status;
    std::optional<std::vector<IterationSpace>> unfinished = worker.run->give_up();
    if (!unfinished) return worker.status;
    for (const IterationSpace& box : *unfinished) outcome_.shares[worker.part] -= *box.count();
    rows_.give_back(*unfinished);
    note_trap(worker);
    note_failure(worker.status.error());
    return {};
  }

  void note_trap(const Worker& worker) {
    const codegen::KernelReport& report = worker.run->report();
    if (!trapped(report) || (trapped(outcome_.report) && !comes_before(report.trap, outcome_.report.trap)))
      return;
    outcome_.report = report;
    outcome_.trapped_on = static_cast<std::uint32_t>(worker.part);
  }

  const std::span<const Part> parts_;
  const DeviceLoop& loop_;
  const std::uint64_t wanted_rows_;
  Rows rows_;
  Partials partials_;
  std::vector<std::atomic<std::uint64_t>> done_;  // rows, by part
  PipelineOutcome outcome_;
  std::optional<Error> error_;  // of the last device that failed
};

}  // namespace

std::variant<PipelineOutcome, PipelineFailure> run_on_devices(std::span<const Part> parts,
                                                              const DeviceLoop& loop, std::uint64_t rows,
                                                              std::span<std::uint64_t> accumulators) {
  return Execution(parts, loop, rows).run(accumulators);
}

}  // namespace dhpvm::offload
