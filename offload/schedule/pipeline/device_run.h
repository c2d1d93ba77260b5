// SPDX-License-Identifier: Apache-2.0
// Runs a loop, or a part of it, on one device: chunk after chunk is uploaded, computed and downloaded, without waiting.
// Or runs several loops: each chunk passes all of them between its upload and its download.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "dhpvm/result.h"
#include "offload/devices/device.h"
#include "offload/schedule/pipeline/array_copies.h"
#include "offload/schedule/pipeline/chunk_claim.h"
#include "offload/schedule/pipeline/run_plan.h"

namespace dhpvm::offload {

// Used by one thread.
class DeviceRun {
 public:
  // How the run stops on request: at once, by cutting kernels short if the device can do that, or between chunks, so
  // that it may continue later.
  enum class WhenStopped : std::uint8_t { kAtOnce, kBetweenChunks };
  // Prepares the arrays. `kernels` are those of the loops, loaded on the device; `partials` has room for the
  // partial results of the whole loop, and stays until the run is finished. Only the last of the loops has reductions,
  // or can trap. Nothing has been computed when this fails.
  static Result<std::unique_ptr<DeviceRun>> begin(PipelineDevice& device, Loops loops, RunPlan plan,
                                                  std::vector<std::shared_ptr<Kernel>> kernels,
                                                  Buffer* partials, WhenStopped when_stopped);
  ~DeviceRun();
  DeviceRun(const DeviceRun&) = delete;
  DeviceRun& operator=(const DeviceRun&) = delete;

  const RunPlan& plan() const { return plan_; }
  // Whether a kernel was cut short by a request to end the loop.
  bool has_stopped() const { return stop_ != nullptr && stop_->has_stopped; }

  // Whether the host's memory has all elements that the loops read.
  bool host_has_inputs() const;

  // Submits a chunk: whole iterations of the outermost dimension, with reductions cut as Chunking cuts. When
  // it fails and the device has not, the waiting was interrupted: the chunk may be submitted again, unless the
  // run has_stopped(). With a claim, the results come to memory of the run's own, and are put in place by the thread
  // that waits for the chunk, if the claim is open then. kOffHeapExhausted means that nothing of the chunk has begun.
  Status submit(const IterationSpace& box, std::shared_ptr<ChunkClaim> claim = nullptr);
  // The number of chunks that have been submitted, and are not known to be done.
  std::size_t in_flight() const { return chunks_.size(); }
  // Waits until at most `count` are in flight.
  Status wait_for(std::size_t count);
  // Waits for the first chunk in flight, at most for `moment`. Returns whether it is done.
  Result<bool> await_first(std::chrono::milliseconds moment);
  // The same without waiting.
  Result<bool> take_first();
  // Registers the listener for the time when the first chunk should be asked about again; false: ask now.
  bool listen_to_first(const std::shared_ptr<SemaphoreListener>& listener, std::uint64_t label) {
    return device_.listen(chunks_.front().until, listener, label);
  }
  // Submits what remains to be sent back after the last chunk.
  Status send_rest();
  // The same, unless it has been done. If the loop is synchronous, or with `wait`, everything has ended on return:
  // results that are sent back are on the host.
  Status finish(bool wait);
  // After a failure of the device: which of the chunks that were submitted have to be done elsewhere, with the contents
  // that the host's memory has now. Copies on the device are gone. Fails if those contents are neither the old nor the
  // new ones: the error names the array that is lost.
  Result<std::vector<IterationSpace>> give_up();

  // Whether the first chunk in flight has read its inputs in the host's memory, so that they may be replaced.
  bool has_first_read_inputs();
  // The iterations of chunks that are known to be done, with results from this run.
  std::uint64_t iterations_done() const;
  // Abandons the chunks in flight, all of which others have done: their results are dropped. The device will be busy
  // with them for about `seconds`.
  void abandon(double seconds);

  // Other devices share the loop: until outdate_between() this run records only its own copies.
  void share() { is_shared_ = true; }
  // The elements that a run has written are current nowhere else, whatever other devices that shared the loop have
  // uploaded meanwhile: they may have read around them. Call it when all runs have ended.
  static void outdate_between(std::span<DeviceRun* const> runs);
  // The kernel's report of traps: after a finish() that waited, and after give_up() for the chunks that were done.
  const codegen::KernelReport& report() const { return report_; }

 private:
  struct Slot {
    DeviceBlock block;
    Positions busy;
  };
  struct RunArray {
    ArrayCopies* copies = nullptr;  // for buffers of the pool
    DeviceCopy* copy = nullptr;
    Positions before;              // what other loops still have to do with the copy
    bool host_was_current = true;  // when the run began, or it will be at the next positions
    Positions host_writes_before;
    // The whole array in the host's memory. Small arrays in the heap are copied to `staging`.
    MemorySpan host;
    Buffer* staging = nullptr;
    IntervalSet staged;  // the bytes that were computed into it
    // The device's memory for an array that does not belong to the pool.
    DeviceBlock own;
    IntervalSet own_valid;
    std::vector<Slot> slots;
    // The memory of the array for the current chunk, and the offset of element 0 in it, in bytes.
    MemorySpan memory;
    std::int64_t first = 0;
  };
  // Results in memory of the run's own, until the thread that waits for their chunk puts them in place: of chunks that
  // have a claim; and for arrays that the loops also read, from a device that may be lost. So the chunk either has been
  // done or can be done again. While devices share a loop, also for arrays in which others may be reading elements that
  // the chunk leaves as they are: those are not written, not even with the value that they have.
  static constexpr std::uint32_t kNoArray = ~std::uint32_t{0};
  struct KeptResult {
    std::uint32_t array = kNoArray;
    Interval bytes;
    std::byte* to = nullptr;
    Buffer* from = nullptr;
    MemorySpan memory;      // the same, as the device knows it
    bool has_gaps = false;  // only what differs is put in place
  };
  struct RunChunk {
    IterationSpace box;
    Positions until;
    std::shared_ptr<ChunkClaim> claim;  // null: no other run computes the chunk
    std::vector<KeptResult> results;
    std::optional<std::uint32_t> sent_in_place;  // of this array, which the loops also read
  };

  DeviceRun(PipelineDevice& device, Loops loops, RunPlan plan, std::vector<std::shared_ptr<Kernel>> kernels,
            Buffer* partials);
  Status submit_stages(const std::vector<ArrayNeeds>& needs);
  Status end_stage();
  bool is_all(const IterationSpace& box) const { return box.extent(0) == loops_[0].space.extent(0); }
  Status launch(std::size_t loop, const IterationSpace& box, const Positions& after);
  void note_launches(const std::vector<ArrayNeeds>& needs);
  static MemorySpan part_of(const MemorySpan& span, const Interval& bytes) {
    return {span.memory, span.offset + bytes.begin, bytes.size()};
  }
  Slot& slot(std::uint32_t n) { return arrays_[n].slots[chunk_ % arrays_[n].slots.size()]; }

  bool uses_lent_memory() const;

  // device_run_arrays.cpp: memory and contents that chunks need
  Status prepare(std::uint32_t n);
  Status prepare_host_memory(std::uint32_t n);
  Status prepare_copy(std::uint32_t n);
  Status prepare_outputs();
  Status upload_chunk(const std::vector<ArrayNeeds>& needs, Positions& after);
  Status upload_slice(std::uint32_t n, const ArrayNeeds& needs, Positions& after);
  Status upload_resident(std::uint32_t n, const ArrayNeeds& needs, Positions& after);
  bool others_may_write(std::uint32_t n, const ArrayNeeds& needs, const Interval& bytes) const;
  Result<Positions> upload(std::uint32_t n, const ArrayNeeds& needs, const MemorySpan& to,
                           const Interval& bytes, const Positions& order, std::uint64_t whole);
  Result<Positions> upload_among_others(const MemorySpan& to, const MemorySpan& from, const Positions& order,
                                        std::uint64_t whole);

  // device_run_results.cpp: results, and the rest after a failure
  Status download_chunk(const std::vector<ArrayNeeds>& needs);
  Status send_back(std::uint32_t n, const ArrayNeeds& needs, const Interval& bytes);
  void note_arrival(std::uint32_t n, const Interval& bytes, const Positions& there);
  Status download_report();
  Status make_room_for_results(const std::vector<ArrayNeeds>& needs);
  bool keeps_result(std::uint32_t n, const ArrayNeeds& needs) const;
  Status add_result(std::uint32_t n, const ArrayNeeds& needs, const Interval& bytes);
  Result<KeptResult*> add_result(const Interval& bytes, std::byte* to);
  void conclude(RunChunk& chunk);
  void conclude_first();
  static void put_in_place(const RunChunk& chunk);
  void leave(RunChunk& chunk, bool is_mine);
  void let_go(RunChunk& chunk);
  Status download_partials(const IterationSpace& box);
  Status settle();
  bool sends_all_back() const;
  Error lost(std::uint32_t n) const;
  std::pair<MemorySpan, MemorySpan> partials_of(const IterationSpace& box) const;
  std::uint64_t blocks_before(const IterationSpace& box) const;

  PipelineDevice& device_;
  const std::vector<Loop> loops_;
  const RunPlan plan_;
  const std::vector<std::shared_ptr<Kernel>> kernels_;
  std::vector<RunArray> arrays_;          // as in the plan
  std::vector<ArrayArgument> arguments_;  // by capture
  // Reductions.
  Buffer* const partials_;
  MemorySpan partials_host_;
  DeviceBlock partials_block_;
  // Traps.
  Buffer* report_buffer_ = nullptr;
  MemorySpan report_host_;
  DeviceBlock report_block_;
  codegen::KernelReport report_;
  MemorySpan unread_report_;  // for loops that cannot trap in this execution

  std::shared_ptr<KernelStop> stop_;  // null: kernels run to their end
  WhenStopped when_stopped_ = WhenStopped::kBetweenChunks;

  std::uint64_t chunk_ = 0;          // number of the next one
  std::optional<RunChunk> current_;  // being submitted
  bool has_claims_ = false;          // whether its chunks have claims
  bool is_shared_ = false;
  bool rest_sent_ = false;                   // see send_rest()
  std::deque<RunChunk> chunks_;              // in flight
  std::vector<IterationSpace> chunks_done_;  // chunks that are known to be done
  Positions last_;                           // of everything that was submitted
};

}  // namespace dhpvm::offload
