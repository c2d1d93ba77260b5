// SPDX-License-Identifier: Apache-2.0
// A loop, or a part of it, on one device: chunk after chunk is uploaded, computed and downloaded, without waiting for any.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "dhpvm/result.h"
#include "offload/device/device.h"
#include "offload/pipeline/array_copies.h"
#include "offload/pipeline/run_plan.h"

namespace dhpvm::offload {

// Used by one thread.
class DeviceRun {
 public:
  // Prepares the arrays. `kernel` is the loop's, loaded on the device; `partials` has room for the partial results of the
  // whole loop, and stays until the run is finished. Nothing has been computed when this fails.
  static Result<std::unique_ptr<DeviceRun>> begin(PipelineDevice& device, const DeviceLoop& loop,
                                                  RunPlan plan, std::shared_ptr<Kernel> kernel,
                                                  Buffer* partials);
  ~DeviceRun();
  DeviceRun(const DeviceRun&) = delete;
  DeviceRun& operator=(const DeviceRun&) = delete;

  const RunPlan& plan() const { return plan_; }
  // At most so many rows make a chunk that fits the slots.
  std::uint64_t most_rows() const;

  // Submits a chunk: whole iterations of the outermost dimension, with reductions cut as Chunking cuts.
  Status submit(const IterationSpace& box);
  // Chunks that have been submitted, and are not known to be done.
  std::size_t in_flight() const { return chunks_.size(); }
  // Waits until at most `count` are in flight.
  Status wait_for(std::size_t count);
  // Submits what remains to be sent back after the last chunk. If the loop is synchronous, or `wait`, all of it has
  // happened on return: results are on the host as far as they are sent back.
  Status finish(bool wait);
  // After a failure: which of the chunks that were submitted have to be done by somebody else, with the contents that the
  // host's memory has now; nothing if those are neither what they were before nor what they should be. Copies on the device
  // are gone.
  std::optional<std::vector<IterationSpace>> give_up();

  // What the kernel tells of traps; after a finish() that waited, and after give_up() of what has been done.
  const codegen::KernelReport& report() const { return report_; }

  // Blocks of reductions in the iterations before `box`.
  static std::uint64_t blocks_before(const DeviceLoop& loop, const IterationSpace& box);

 private:
  struct Slot {
    DeviceBlock block;
    Positions busy;
  };
  struct RunArray {
    ArrayCopies* copies = nullptr;  // of the pool's buffers
    DeviceCopy* copy = nullptr;
    Positions before;              // what other loops still do with the copy
    bool host_was_current = true;  // when the run began
    // The whole array as the host has it. Of small arrays in the heap a copy, in `staging`.
    MemorySpan host;
    Buffer* staging = nullptr;
    IntervalSet staged;  // what has been computed into it
    // The device's memory of an array that is not the pool's.
    DeviceBlock own;
    IntervalSet own_valid;
    std::vector<Slot> slots;
  };

  DeviceRun(PipelineDevice& device, const DeviceLoop& loop, RunPlan plan, std::shared_ptr<Kernel> kernel,
            Buffer* partials);
  Status prepare(std::uint32_t n);
  Status prepare_host_memory(std::uint32_t n);
  Status prepare_copy(std::uint32_t n);
  Status prepare_outputs();
  Status upload_chunk(const ChunkNeeds& needs, Positions& after);
  Status upload_slice(std::uint32_t n, const ChunkNeeds::Part& part, Positions& after);
  Status upload_resident(std::uint32_t n, const ChunkNeeds::Part& part, Positions& after);
  Status end_stage();
  Status launch(const IterationSpace& box, const ChunkNeeds& needs, const Positions& after);
  Status download_chunk(const ChunkNeeds& needs);
  Status send_back(std::uint32_t n, const Interval& bytes);
  void note_launch(const ChunkNeeds& needs, std::uint64_t position);
  Status download_report();
  Status download_partials(const Interval& bytes);
  Status take_over_arrivals();
  Status settle();
  bool sends_all_back() const;
  bool is_in_place(std::uint32_t n) const;
  Slot& slot(std::uint32_t n) { return arrays_[n].slots[chunk_ % arrays_[n].slots.size()]; }
  std::span<const codegen::KernelArray> descriptors() const { return descriptors_; }

  PipelineDevice& device_;
  const DeviceLoop loop_;
  const RunPlan plan_;
  const std::shared_ptr<Kernel> kernel_;
  std::vector<RunArray> arrays_;
  std::vector<codegen::KernelArray> descriptors_;
  std::vector<ArrayArgument> arguments_;
  std::uint64_t row_iterations_ = 1;
  // Reductions.
  Buffer* const partials_;
  MemorySpan partials_host_;
  DeviceBlock partials_block_;
  // Traps.
  Buffer* report_buffer_ = nullptr;
  MemorySpan report_host_;
  DeviceBlock report_block_;
  codegen::KernelReport report_;

  std::uint64_t chunk_ = 0;  // number of the next one
  // Results for arrays that the loop also reads, from a device that may be lost: they are put in place all at once, so
  // that the chunk either has been done or can be done again.
  struct Arrival {
    struct Piece {
      std::byte* to;
      Buffer* from;
      std::size_t bytes;
    };
    std::mutex mutex;
    std::vector<Piece> pieces;
    bool done = false;
    bool abandoned = false;  // the device has been given up: nothing is put in place any more
  };
  struct Chunk {
    IterationSpace box;
    Positions until;
    std::shared_ptr<Arrival> arrival;  // null: whatever is sent back goes to its place directly
    bool in_place_sent = false;        // directly, of an array that the loop also reads
  };
  std::optional<Chunk> current_;             // being submitted
  std::deque<Chunk> chunks_;                 // in flight
  std::vector<IterationSpace> chunks_done_;  // known to be
  Positions last_;                           // of all that was submitted
};

}  // namespace dhpvm::offload
