// SPDX-License-Identifier: Apache-2.0
#include "offload/schedule/pipeline/pipeline.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <variant>

#include "base/error.h"
#include "bytecode/reduction.h"
#include "offload/devices/host_code.h"
#include "offload/schedule/pipeline/chunk_board.h"
#include "offload/schedule/pipeline/partials.h"
#include "offload/schedule/pipeline/shared_loop.h"
#include "offload/schedule/pipeline/stage_load.h"

namespace dhpvm::offload {

bool can_be_split(const RunPlan& plan) {
  for (std::size_t n = 0; n < plan.arrays.size(); ++n) {
    if (!plan.needs[n].writes.empty() && !plan.arrays[n].by_chunk) return false;
  }
  return true;
}

namespace {

// Chunks consist of multiples of so many rows.
std::uint64_t unit_of(const Loop& loop) {
  return loop.space.dimensions == 1 && !loop.reductions.empty() ? bytecode::kReductionBlock : 1;
}

// One execution of a loop on one device or several.
class LoopExecution {
 public:
  LoopExecution(std::span<const Part> parts, const Loop& loop, std::uint64_t rows, const HostPart& host,
                LoopProgress* progress)
      : parts_(parts.begin(), parts.end()),
        loop_(loop),
        wanted_rows_(rows),
        host_(host),
        progress_(progress),
        board_(loop.space, unit_of(loop), parts.size() + 1),
        partials_(loop) {
    outcome_.shares.resize(parts.size() + 1);
  }

  std::variant<PipelineOutcome, PipelineFailure> run(std::span<std::uint64_t> accumulators) {
    if (Status status = partials_.allocate(parts_[0].device->pool()); !status.ok())
      return given_up(status.error());
    // If a device fails, the others do its chunks. They may have ended by then, which needs one more round.
    std::vector<std::size_t> able(parts_.size());
    std::iota(able.begin(), able.end(), 0);
    while (board_.rows_left() != 0) {
      // If nothing has begun, the loop runs on the host like any other. Otherwise its rest must be combined with what
      // is done, in the order of iterations.
      if (able.empty() && !has_begun_) return given_up(*error_);
      if (able.empty() && !take_host(able)) return PipelineFailure{*error_, std::nullopt};
      if (Status status = run_round(able); !status.ok())
        return PipelineFailure{std::move(status).error(), std::nullopt};
    }
    outcome_.redone = board_.redone();
    if (!has_trapped(outcome_.report)) partials_.fold(accumulators);
    if (error_) outcome_.failures.push_back(std::move(*error_));
    return std::move(outcome_);
  }

 private:
  Loops loops() const { return {&loop_, 1}; }
  PipelineFailure given_up(Error error) {
    return {std::move(error), std::vector<IterationSpace>{loop_.space}};
  }

  // Adds the host once. False if there is no host, or it has failed already.
  bool take_host(std::vector<std::size_t>& able) {
    if (!host_ || parts_.size() == outcome_.shares.size()) return false;
    std::optional<Part> host = host_();
    if (!host) return false;
    able.push_back(parts_.size());
    parts_.push_back(std::move(*host));
    return true;
  }

  // Runs what is left on all parts that are able, and removes those that fail. Fails when arrays have been lost.
  Status run_round(std::vector<std::size_t>& able) {
    std::vector<PartRun> runs;
    for (const std::size_t part : able) begin(part, runs);
    able.clear();
    if (runs.empty()) return {};
    const bool shared = runs.size() > 1;
    if (shared) prepare_sharing(runs);
    for (PartRun& part_run : runs) part_run.device->blocks().keep_copies(shared);
    if (shared) {
      work_together(board_, loop_, runs, progress_);
    } else {
      runs[0].status = work_alone(runs[0]);
    }
    std::vector<DeviceRun*> ended;
    for (PartRun& part_run : runs) {
      part_run.device->blocks().keep_copies(false);
      ended.push_back(part_run.run.get());
    }
    if (shared) DeviceRun::outdate_between(ended);
    for (PartRun& part_run : runs) {
      DHPVM_TRY(end(part_run));
      if (part_run.status.ok() && !part_run.exhausted) able.push_back(part_run.part);
    }
    return {};
  }

  void begin(std::size_t part, std::vector<PartRun>& runs) {
    PipelineDevice& device = *parts_[part].device;
    // In later rounds devices have other parts of the arrays, which need a new plan.
    std::optional<RunPlan> given = std::exchange(parts_[part].plan, std::nullopt);
    Result<RunPlan> plan = given ? Result<RunPlan>(std::move(*given)) : plan_run(device, loops());
    if (!plan.ok()) return note_failure(std::move(plan).error());
    PartRun part_run;
    part_run.part = part;
    part_run.device = &device;
    part_run.rows = wanted_rows_ != 0 ? wanted_rows_ : rows_for(device, loops(), *plan);
    // A device that shares arrays with others sends its results back.
    if (parts_.size() > 1) plan->share();
    outcome_.upload_bytes += plan->upload_bytes;
    outcome_.download_bytes += plan->download_bytes;
    outcome_.sliced = outcome_.sliced || plan->slice_budget != 0;
    // A size that the user has set is not rounded.
    if (wanted_rows_ == 0) part_run.unit = parts_[part].kernel->row_unit(loop_.space);
    if (part_run.rows < loop_.space.extent(0))
      part_run.rows = in_units(part_run.rows, part_run.unit, most_rows(loops(), *plan));
    // A device that is still busy with other work gets a small chunk first, which shows when it is free.
    if (device.seconds_behind() == 0)
      part_run.facts.rows_per_second = expected_rate(device, loops(), *plan, part_run.rows);
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

  // Lets idle devices repeat chunks of others where that changes only the time: the host has the inputs until results
  // are put in place, and an abandoned chunk raises no trap that the loop does not raise.
  void prepare_sharing(std::vector<PartRun>& runs) {
    bool has_inputs = true;
    bool is_in_place = false;
    for (const PartRun& part_run : runs) {
      has_inputs = has_inputs && part_run.run->host_has_inputs();
      is_in_place = is_in_place || part_run.run->plan().replaces_inputs();
    }
    Redo redo = is_in_place ? Redo::kInstead : Redo::kBeside;
    if (!has_inputs || (is_in_place && loop_.can_trap)) redo = Redo::kNever;
    for (PartRun& part_run : runs) {
      const DeviceInfo& info = part_run.device->info();
      part_run.is_shared = true;
      part_run.run->share();
      part_run.facts.has_claims = (info.is_remote || info.may_be_lost) && !info.shares_host_memory;
      part_run.facts.redo = redo;
      board_.join(part_run.part, part_run.facts);
    }
  }

  Status work_alone(PartRun& part_run) {
    for (;;) {
      DHPVM_TRY(part_run.device->await_turn());
      const std::optional<IterationSpace> box = board_.take(part_run.rows_now(loop_));
      if (!box) return part_run.run->finish(false);
      const Status submitted = part_run.run->submit(*box);
      if (part_run.lacks_room(submitted)) {
        board_.give_back({*box});
        part_run.rows = box->extent(0) / 2;
        if (box->extent(0) > board_.unit()) continue;
        part_run.exhausted = submitted.error();
        return part_run.run->finish(true);
      }
      part_run.iterations += *box->count();
      ++part_run.chunks;
      DHPVM_TRY(submitted);
      DHPVM_TRY(part_run.run->wait_for(kChunksInFlight));
      if (progress_ != nullptr) progress_->add(*box->count());
    }
  }

  Status end(PartRun& part_run) {
    has_begun_ = has_begun_ || part_run.chunks != 0;
    outcome_.chunks += part_run.chunks;
    if (part_run.status.ok()) {
      outcome_.shares[part_run.part] +=
          part_run.is_shared ? part_run.run->iterations_done() : part_run.iterations;
      outcome_.in_flight = parts_.size() == 1 && !part_run.run->plan().synchronous && !part_run.exhausted;
      note_trap(part_run);
      if (part_run.exhausted) note_failure(std::move(*part_run.exhausted));
      return {};
    }
    // The loop was asked to stop; the device itself works.
    if (!part_run.device->failure()) return part_run.status;
    DHPVM_ASSIGN(const std::vector<IterationSpace> unfinished, part_run.run->give_up());
    outcome_.shares[part_run.part] += part_run.run->iterations_done();
    board_.give_back(unfinished);
    note_trap(part_run);
    note_failure(part_run.status.error());
    return {};
  }

  void note_trap(const PartRun& part_run) {
    const codegen::KernelReport& report = part_run.run->report();
    if (!has_trapped(report) ||
        (has_trapped(outcome_.report) && !comes_before(report.trap, outcome_.report.trap)))
      return;
    outcome_.report = report;
    outcome_.trapped_on = static_cast<std::uint32_t>(part_run.part);
  }

  std::vector<Part> parts_;  // in the end the host
  const Loop& loop_;
  const std::uint64_t wanted_rows_;
  const HostPart& host_;
  LoopProgress* const progress_;  // null: progress is not reported
  ChunkBoard board_;
  Partials partials_;
  PipelineOutcome outcome_;
  std::optional<Error> error_;  // of the last device that failed
  bool has_begun_ = false;
};

}  // namespace

std::variant<PipelineOutcome, PipelineFailure> run_on_devices(std::span<const Part> parts, const Loop& loop,
                                                              std::uint64_t rows,
                                                              std::span<std::uint64_t> accumulators,
                                                              const HostPart& host, LoopProgress* progress) {
  return LoopExecution(parts, loop, rows, host, progress).run(accumulators);
}

}  // namespace dhpvm::offload
