// SPDX-License-Identifier: Apache-2.0
#include "offload/schedule/pipeline/pipeline.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <mutex>
#include <numeric>
#include <utility>
#include <variant>

#include "base/error.h"
#include "base/thread.h"
#include "bytecode/reduction.h"
#include "offload/devices/host_code.h"
#include "offload/schedule/pipeline/stage_load.h"

namespace dhpvm::offload {
namespace {

// Where several devices share a loop, chunks are given out late, to whoever is quickest.
constexpr std::size_t kSharedChunksInFlight = 2;
// A device takes next at least this part of what it has done already.
constexpr std::uint64_t kLeastShare = 64;

// Partial results, one register for each block and reduction of the whole loop.
class Partials {
 public:
  explicit Partials(const Loop& loop) : loop_(loop) {}
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
  const Loop& loop_;
  Buffer* buffer_ = nullptr;
  std::uint64_t blocks_ = 0;
};

}  // namespace

bool can_be_split(const RunPlan& plan) {
  for (std::size_t n = 0; n < plan.arrays.size(); ++n) {
    if (!plan.needs[n].writes.empty() && !plan.arrays[n].by_chunk) return false;
  }
  return true;
}

namespace {

bool trapped(const codegen::KernelReport& report) {
  return report.status == static_cast<std::uint32_t>(codegen::KernelStatus::kTrapped);
}

// The rows that are still to be done, handed out piece by piece to the threads of the devices.
class Rows {
 public:
  explicit Rows(const Loop& loop)
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
  // Pieces of so many rows cannot be divided.
  std::uint64_t unit() const { return unit_; }

 private:
  const std::uint64_t unit_;
  std::mutex mutex_;
  std::vector<IterationSpace> boxes_;  // none is empty
};

// One execution of a loop on one device or several.
class LoopExecution {
 public:
  LoopExecution(std::span<const Part> parts, const Loop& loop, std::uint64_t rows, const HostPart& host)
      : parts_(parts.begin(), parts.end()),
        loop_(loop),
        wanted_rows_(rows),
        host_(host),
        rows_(loop),
        partials_(loop),
        done_(parts.size() + 1) {
    outcome_.shares.resize(parts.size() + 1);
  }

  std::variant<PipelineOutcome, PipelineFailure> run(std::span<std::uint64_t> accumulators) {
    if (Status status = partials_.allocate(parts_[0].device->pool()); !status.ok())
      return given_up(status.error());
    // A device that fails leaves its chunks to the others, which may have come to their end by then: one more round.
    std::vector<std::size_t> able(parts_.size());
    std::iota(able.begin(), able.end(), 0);
    while (rows_.left() != 0) {
      // Untouched, the loop runs on the host like any other. Otherwise its rest must be combined with
      // what is done, in the order of the iterations.
      if (able.empty() && !has_begun_) return given_up(*error_);
      if (able.empty() && !take_host(able)) return PipelineFailure{*error_, std::nullopt};
      if (Status status = run_round(able); !status.ok())
        return PipelineFailure{std::move(status).error(), std::nullopt};
    }
    if (!trapped(outcome_.report)) partials_.fold(accumulators);
    if (error_) outcome_.failures.push_back(std::move(*error_));
    return std::move(outcome_);
  }

 private:
  struct PartRun {
    std::size_t part;
    std::unique_ptr<DeviceRun> run;
    std::uint64_t rows = 0;  // of a chunk
    Status status;
    std::optional<Error> exhausted;  // not even the smallest chunk has found room; what was submitted is done
    std::uint64_t chunks = 0;
    std::uint64_t iterations = 0;
  };

  Loops loops() const { return {&loop_, 1}; }
  PipelineFailure given_up(Error error) {
    return {std::move(error), std::vector<IterationSpace>{loop_.space}};
  }

  // Once: false if there is no host, or it has been unable already.
  bool take_host(std::vector<std::size_t>& able) {
    if (!host_ || parts_.size() == outcome_.shares.size()) return false;
    std::optional<Part> host = host_();
    if (!host) return false;
    able.push_back(parts_.size());
    parts_.push_back(std::move(*host));
    return true;
  }

  // Runs what is left on all that are able; takes out those that fail. Fails when the arrays have been lost.
  Status run_round(std::vector<std::size_t>& able) {
    std::vector<PartRun> runs;
    for (const std::size_t part : able) begin(part, runs);
    able.clear();
    if (runs.empty()) return {};
    const bool shared = runs.size() > 1;
    for (PartRun& part_run : runs) parts_[part_run.part].device->keep_copies(shared);
    std::vector<Thread> threads;
    std::vector<PartRun*> without_thread;
    for (std::size_t n = 1; n < runs.size(); ++n) {
      auto thread = Thread::start("dhpvm-device", [this, &part_run = runs[n]] { work(part_run, true); });
      if (thread.ok()) {
        threads.push_back(std::move(thread).value());
      } else {
        without_thread.push_back(&runs[n]);
      }
    }
    work(runs[0], shared);
    // The others have taken their chunks.
    for (PartRun* const part_run : without_thread) work(*part_run, true);
    threads.clear();
    for (PartRun& part_run : runs) {
      parts_[part_run.part].device->keep_copies(false);
      if (shared) part_run.run->outdate_others();
    }
    for (PartRun& part_run : runs) {
      DHPVM_TRY(end(part_run));
      if (part_run.status.ok() && !part_run.exhausted) able.push_back(part_run.part);
    }
    return {};
  }

  void begin(std::size_t part, std::vector<PartRun>& runs) {
    PipelineDevice& device = *parts_[part].device;
    // In later rounds devices have other parts of the arrays.
    std::optional<RunPlan> given = std::exchange(parts_[part].plan, std::nullopt);
    Result<RunPlan> plan = given ? Result<RunPlan>(std::move(*given)) : plan_run(device, loops());
    if (!plan.ok()) return note_failure(std::move(plan).error());
    PartRun part_run;
    part_run.part = part;
    part_run.rows = wanted_rows_ != 0 ? wanted_rows_ : rows_for(device, loops(), *plan);
    // Whoever shares arrays with others sends back what it computes.
    if (parts_.size() > 1) plan->share();
    outcome_.upload_bytes += plan->upload_bytes;
    outcome_.download_bytes += plan->download_bytes;
    outcome_.sliced = outcome_.sliced || plan->slice_budget != 0;
    part_run.rows = std::min(part_run.rows, most_rows(loops(), *plan));
    auto run = DeviceRun::begin(device, loops(), std::move(plan).value(), {parts_[part].kernel},
                                partials_.buffer(), DeviceRun::WhenStopped::kAtOnce);
    if (!run.ok()) return note_failure(std::move(run).error());
    part_run.run = std::move(run).value();
    outcome_.rows_per_chunk =
        std::max(outcome_.rows_per_chunk, std::min(part_run.rows, loop_.space.extent(0)));
    runs.push_back(std::move(part_run));
  }

  void note_failure(Error error) {
    if (error_) outcome_.failures.push_back(std::move(*error_));
    error_ = std::move(error);
  }

  // How many rows a device that shares the loop takes next. As all have begun together, what each has done
  // tells their rates: half of what a device should still get by its own makes chunks smaller towards the
  // end, so that all come to it at the same time; but not so small that they cost more than they bring.
  std::uint64_t fair_rows(const PartRun& part_run) {
    const std::uint64_t mine = done_[part_run.part].load(std::memory_order_relaxed);
    std::uint64_t all = 0;
    for (const std::atomic<std::uint64_t>& rows : done_) all += rows.load(std::memory_order_relaxed);
    const double share = mine == 0 ? 1 / static_cast<double>(parts_.size())
                                   : static_cast<double>(mine) / static_cast<double>(all);
    const auto fair = static_cast<std::uint64_t>(static_cast<double>(rows_.left()) * share / 2) + 1;
    return std::min(part_run.rows, std::max(fair, mine / kLeastShare));
  }

  void work(PartRun& part_run, bool shared) {
    std::deque<std::uint64_t> flying;  // rows of the chunks that are not known to be done
    const auto submit_all = [&]() -> Status {
      for (;;) {
        PipelineDevice& device = *parts_[part_run.part].device;
        DHPVM_TRY(device.await_turn());
        std::uint64_t rows = shared ? fair_rows(part_run) : part_run.rows;
        if (device.is_paced()) rows = std::min(rows, soon_done_rows(device, loops()));
        const std::optional<IterationSpace> box = rows_.take(rows);
        if (!box) return part_run.run->finish(shared);
        const Status submitted = part_run.run->submit(*box);
        if (lacks_room(part_run, submitted)) {
          rows_.give_back({*box});
          part_run.rows = box->extent(0) / 2;
          if (box->extent(0) > rows_.unit()) continue;
          part_run.exhausted = submitted.error();
          return part_run.run->finish(true);
        }
        part_run.iterations += *box->count();
        ++part_run.chunks;
        DHPVM_TRY(submitted);
        DHPVM_TRY(part_run.run->wait_for(shared ? kSharedChunksInFlight : kChunksInFlight));
        flying.push_back(box->extent(0));
        for (; flying.size() > part_run.run->in_flight(); flying.pop_front()) {
          done_[part_run.part].fetch_add(flying.front(), std::memory_order_relaxed);
        }
      }
    };
    part_run.status = submit_all();
  }

  // Nothing of the chunk has begun then: slices may be larger in one place than in another.
  bool lacks_room(const PartRun& part_run, const Status& status) const {
    return !status.ok() && status.error().code() == ErrorCode::kDeviceExhausted &&
           !parts_[part_run.part].device->failure();
  }

  Status end(PartRun& part_run) {
    has_begun_ = has_begun_ || part_run.chunks != 0;
    outcome_.chunks += part_run.chunks;
    outcome_.shares[part_run.part] += part_run.iterations;
    if (part_run.status.ok()) {
      outcome_.in_flight = parts_.size() == 1 && !part_run.run->plan().synchronous && !part_run.exhausted;
      note_trap(part_run);
      if (part_run.exhausted) note_failure(std::move(*part_run.exhausted));
      return {};
    }
    // Somebody wants the loop to stop, and the device goes on.
    if (!parts_[part_run.part].device->failure()) return part_run.status;
    std::optional<std::vector<IterationSpace>> unfinished = part_run.run->give_up();
    if (!unfinished) return part_run.status;
    for (const IterationSpace& box : *unfinished) outcome_.shares[part_run.part] -= *box.count();
    rows_.give_back(*unfinished);
    note_trap(part_run);
    note_failure(part_run.status.error());
    return {};
  }

  void note_trap(const PartRun& part_run) {
    const codegen::KernelReport& report = part_run.run->report();
    if (!trapped(report) || (trapped(outcome_.report) && !comes_before(report.trap, outcome_.report.trap)))
      return;
    outcome_.report = report;
    outcome_.trapped_on = static_cast<std::uint32_t>(part_run.part);
  }

  std::vector<Part> parts_;  // in the end the host
  const Loop& loop_;
  const std::uint64_t wanted_rows_;
  const HostPart& host_;
  Rows rows_;
  Partials partials_;
  std::vector<std::atomic<std::uint64_t>> done_;  // rows, by part
  PipelineOutcome outcome_;
  std::optional<Error> error_;  // of the last device that failed
  bool has_begun_ = false;
};

}  // namespace

std::variant<PipelineOutcome, PipelineFailure> run_on_devices(std::span<const Part> parts, const Loop& loop,
                                                              std::uint64_t rows,
                                                              std::span<std::uint64_t> accumulators,
                                                              const HostPart& host) {
  return LoopExecution(parts, loop, rows, host).run(accumulators);
}

}  // namespace dhpvm::offload
