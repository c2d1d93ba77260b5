// SPDX-License-Identifier: Apache-2.0
// Consecutive loops, deferred until their results are needed, and then run together. Loops over arrays that do not fit
// the device run in slices: each chunk passes all of them between its one upload and its one download. Short loops run
// as wholes, one after the other: the device gets all of them at once, a worker in one message.
//
// The arrays know their loops (array_copies.h): an access to one of them runs the loops first. Their buffers stay until
// then, even if the program has released them; such arrays are not sent back.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "dhpvm/result.h"
#include "offload/devices/batch_recorder.h"
#include "offload/schedule/pipeline/array_copies.h"
#include "offload/schedule/pipeline/chain_rules.h"
#include "offload/schedule/pipeline/device_run.h"
#include "offload/schedule/pipeline/partials.h"
#include "offload/schedule/pipeline/pipeline.h"

namespace dhpvm::offload {

enum class ChainWay : std::uint8_t { kInSlices, kAsWholes };

// The outcome of all loops of a chain together.
struct ChainOutcome {
  ChainWay way = ChainWay::kInSlices;
  std::uint64_t chunks = 0;
  std::uint64_t rows_per_chunk = 0;
  std::uint64_t upload_bytes = 0;
  std::uint64_t download_bytes = 0;
  bool is_remote = false;
  // The device takes several operations in one batch.
  bool takes_batches = false;
  // The whole batch was the same as an earlier one, and the worker or the driver repeated that.
  bool is_replay = false;
  // Why the driver has refused to record it; empty if it has not.
  std::string why_unrecorded;
  // Why the device has not run all of it; the host has done the rest.
  std::optional<Error> failure;
};

// Used by the thread of the isolate.
class LoopChain final : public DeferredLoops {
 public:
  using Way = ChainWay;
  // `rows`: the rows in a chunk; 0: as many as measurements suggest, or all.
  LoopChain(PipelineDevice& device, std::uint64_t rows, Way way);
  // Loops whose results were not needed are dropped.
  ~LoopChain() override;

  PipelineDevice& device() const { return device_; }
  std::uint64_t rows() const { return wanted_rows_; }
  Way way() const { return way_; }
  std::size_t size() const { return links_.size(); }

  // Appends a loop for which can_wait_in_slices() or can_wait_as_whole() holds. Returns an empty text, or the reason,
  // for people, why it cannot run together with those before it. `part` has the loop's plan, if deciding on it needed
  // one. `host` runs the loop if the device cannot; everything that `loop` refers to except its footprint is copied.
  std::string add(const Loop& loop, const Part& part, HostPart host);

  // Runs the loops: afterwards they are in flight, or done, and the chain is empty. After an interrupt the caller may
  // go on with another call. After other failures arrays are lost, and every access to them reports that.
  Status settle() override;

  // Whether run_with() is possible now.
  bool takes_last() const {
    return way_ == Way::kAsWholes && run_ == nullptr && links_.size() < kLongestChainOfWholes;
  }
  // Runs the loops of the chain and then `last`, for which can_end_chain() holds, as one message. `accumulators` have
  // the initial values of its reductions, and the results after a loop that has not trapped. The report is that of
  // `last`, from the kernel of `host` if the host has run it. When it fails, arrays are lost, or the waiting was
  // interrupted: then the loops are in flight, and go on with the next settle().
  struct LastResult {
    codegen::KernelReport report;
    bool is_of_host = false;
  };
  Result<LastResult> run_with(const Loop& last, const Part& part, HostPart host,
                              std::span<std::uint64_t> accumulators);

  // Called whenever loops have been run, before the chain is empty. Must touch no array.
  std::function<void(const ChainOutcome&)> on_end;

 private:
  struct Link;
  // The last loop, if the program waits for it.
  struct Awaited {
    Awaited(const Loop& last, std::span<std::uint64_t> results, LastResult* outcome)
        : partials(last), accumulators(results), result(outcome) {}
    Partials partials;
    std::span<std::uint64_t> accumulators;
    LastResult* result;  // null when no caller waits any more
  };

  std::string why_not_behind(const Loop& loop, const Part& part);
  void append(const Loop& loop, const Part& part, HostPart host);
  Status begin();
  Status submit_all();
  Status leave_device(std::vector<IterationSpace>& boxes);
  Status do_on_host(const std::vector<IterationSpace>& boxes);
  void take_result();
  template <typename Visit>
  void for_each_buffer(Visit&& visit);
  void end();
  std::vector<Loop> loops() const;

  PipelineDevice& device_;
  const std::uint64_t wanted_rows_;
  const Way way_;
  std::vector<std::unique_ptr<Link>> links_;
  std::vector<std::unique_ptr<Link>> spare_;  // kept for later loops
  std::uint64_t planned_bytes_ = 0;           // the bytes that they move, together
  // Set while they run.
  std::unique_ptr<Awaited> awaited_;  // null: no caller waits for the last one
  std::unique_ptr<DeviceRun> run_;    // before the partial results that it works on
  std::uint64_t chunk_rows_ = 0;
  std::uint64_t row_unit_ = 1;  // the largest unit of the loops' kernels; for slices
  std::uint64_t next_row_ = 0;
  ChainOutcome outcome_;
  DeviceStats stats_before_;
  BatchRecorder::Refusals refusals_before_;
};

}  // namespace dhpvm::offload
