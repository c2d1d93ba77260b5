// SPDX-License-Identifier: Apache-2.0
// A device as one isolate uses it: three queues that work concurrently, its memory, and its measurements.
//
// Used by one thread at a time.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/trace.h"
#include "offload/devices/device.h"
#include "offload/devices/operation.h"
#include "offload/schedule/memory/buffer.h"
#include "offload/schedule/memory/buffer_pool.h"
#include "offload/schedule/memory/registrations.h"
#include "offload/schedule/pipeline/device_blocks.h"
#include "offload/schedule/pipeline/device_model.h"
#include "offload/schedule/pipeline/pace.h"
#include "offload/schedule/pipeline/plan_memo.h"
#include "offload/schedule/pipeline/positions.h"

namespace dhpvm::offload {

class SemaphoreListener;

struct PipelineDeviceOptions {
  // Device memory, at most what the device has.
  std::uint64_t budget_bytes = std::numeric_limits<std::uint64_t>::max();
  // Called while a thread waits for the device: an error ends the waiting and is returned.
  std::function<Status()> poll;
  // Ends kernels early, if the device can do that; null: never. Lives as long as the device.
  StopToken* stop = nullptr;
  Tracer* tracer = nullptr;
  // The tracer's track for loops, from which arrows lead to their operations.
  std::uint32_t loops_track = 0;
  // Called for every operation some time after it is done, from any thread. May be empty.
  std::function<void(const OperationRecord&)> observer;
  // Whether stages and chunks overlap. If not, each stage of a chunk ends before the next is submitted, for comparison.
  bool overlap = true;
};

class PipelineDevice final : public Timelines {
 public:
  static Result<std::unique_ptr<PipelineDevice>> create(std::shared_ptr<Device> device, BufferPool& pool,
                                                        Registrations& registrations,
                                                        const PipelineDeviceOptions& options);
  // Waits for all operations.
  ~PipelineDevice() override;
  PipelineDevice(const PipelineDevice&) = delete;
  PipelineDevice& operator=(const PipelineDevice&) = delete;

  Device& device() { return *device_; }
  const DeviceInfo& info() const { return device_->info(); }
  BufferPool& pool() { return pool_; }
  Registrations& registrations() { return registrations_; }
  DeviceModel& model() { return *model_; }
  PlanMemo& plan_memo() { return plan_memo_; }
  DeviceBlocks& blocks() { return blocks_; }
  const DeviceBlocks& blocks() const { return blocks_; }
  bool overlaps() const { return options_.overlap; }
  // Whether launches are kept short: on accelerators of this machine. The end of a program never waits for a worker's
  // launches.
  bool is_paced() const {
    return !info().stops_kernels && !info().is_remote && info().format != KernelFormat::kHostCode;
  }
  StopToken* stop_token() const { return options_.stop; }
  // Raised when this object ends: the results of its launches cannot be read any more.
  StopToken& end_token() { return end_; }

  // Begins to measure the link to a device of another machine, with copies of two sizes, before anything depends on it.
  Status begin_to_measure_link();
  // Whether the measurement has ended, or there was nothing to measure.
  bool is_link_measured() { return fate_of(link_measured_) != Fate::kUnderWay; }

  // Whether copies within an object of this size go through the queue of the launches, because changing queues would
  // cost more than the copy. Before such an upload the caller waits until the host has the bytes.
  bool copies_with_launches(std::uint64_t bytes) const { return info().write_bytes != 0 && bytes <= kSmall; }
  // A larger copy takes as long in the queue of the launches as in its own queue.
  static constexpr std::uint64_t kSmall = 32 << 10;
  // As the size of an object: its copies never use the queue of the launches.
  static constexpr std::uint64_t kLarge = std::numeric_limits<std::uint64_t>::max();
  // Submit a copy that begins when `after` has been reached, and return its position. `whole` is the size of the object
  // that it is a part of (copies_with_launches()).
  Result<Positions> upload(const MemorySpan& to, const MemorySpan& from, const Positions& after,
                           std::uint64_t whole);
  Result<Positions> download(const MemorySpan& to, const MemorySpan& from, const Positions& after,
                             std::uint64_t whole);
  // For reports that are not read: of kernels that can trap in general, in executions that cannot.
  Result<MemorySpan> unread_report();
  // Submit an operation that begins when `after` has been reached to the queue of its stage; return its position.
  Result<std::uint64_t> fill(const MemorySpan& to, std::byte value, const Positions& after);
  // `loop` is the chunk that is launched.
  Result<std::uint64_t> launch(const Launch& launch, const Positions& after, const Loop& loop);
  // From here to end_batch(), operations of the launch queue are collected and submitted as one batch, if the device
  // takes batches. All get the same position; nobody may wait for it before the end.
  void begin_batch();
  Status end_batch();
  // Operations submitted from now on belong together: a trace draws arrows to them from the loop that submits them.
  void begin_chunk();
  // Adds a slice to the trace for a compilation on the device, in the time of the device's clock.
  void trace_compilation(std::string_view name, std::chrono::nanoseconds begin, std::chrono::nanoseconds end);
  // The positions of the operations that were submitted last.
  const Positions& submitted() const { return submitted_; }

  // The iterations that the next launch of `loop` should have, so that it ends soon. Not for devices of other machines.
  std::uint64_t most_iterations(const Loop& loop) { return pace_->most_iterations(loop); }
  // Whether the loop may be deferred and run with others as one: on a worker, where each round trip costs more than a
  // short loop, and on devices of this machine if it is short, because nothing interrupts loops that run together. Not
  // on the host's cores, where a launch is a call.
  bool joins(const Loop& loop);
  // Called before a chunk is submitted: waits until everything in flight will be done soon. Fails with the poll's
  // error, or the device's.
  Status await_turn();
  // Whether an error of poll() has ended a waiting since a run began on the device.
  bool was_interrupted() const { return was_interrupted_; }
  void begin_run() { was_interrupted_ = false; }
  // Why a kernel was cut short.
  Error stop_reason() const;
  // Called between loops without a waiting caller: finds out whether one of them has failed, and waits if too many are
  // in flight.
  Status keep_pace();
  // Waits until these operations are done. Fails with the device's error, or with the poll's.
  Status wait(const Positions& positions);
  // The same for at most `moment`; returns whether they are done.
  Result<bool> await(const Positions& positions, std::chrono::milliseconds moment);
  // The results of these operations are not needed any more; the device will be busy with them for about `seconds`.
  void set_behind(const Positions& until, double seconds);
  // The expected seconds until that; once it is late, as long again as it has been.
  double seconds_behind();
  // Makes the device work on those operations, as a waiting caller does, and returns at once whether they are done.
  // Fails as await() does.
  Result<bool> catch_up();
  // For the end of the isolate: whether everything that was submitted has ended, or failed, by then. Does not poll.
  bool ends_by(Semaphore::Clock::time_point deadline);
  // Waits until these operations have ended or failed, whatever poll() says.
  void wait_out(const Positions& positions);
  // Cuts the ties with the isolate, its arrays, its tracer and its observer. Afterwards the device can only be
  // destroyed, from any thread.
  void leave();
  // Calls the listener when the first of these stages that is in flight is done, or has failed; false if none is in
  // flight. For devices whose semaphores rise without being asked, like those of workers.
  bool listen(const Positions& positions, const std::shared_ptr<SemaphoreListener>& listener,
              std::uint64_t label);
  // The fate of these operations, without blocking. Records a failure.
  Fate fate_of(const Positions& positions) override;

  // Keeps the buffer alive until these positions are reached.
  void hold(Buffer& buffer, const Positions& until);
  // Releases buffers whose operations are done.
  void release_held();

  // The first failure from which the device does not recover: nothing more is submitted to it. Each thread that
  // submits, waits or looks may find it, and records it here.
  const std::optional<Error>& failure() const { return failure_; }
  // Why the device is to be dropped, and opened again later: its machine is gone, or about to leave. A device that is
  // about to leave has no failure yet: operations in flight may be finished, and its copies fetched.
  std::optional<Error> departure() const { return device_->gone(); }

 private:
  friend class DeviceBlocks;  // records failures of allocations
  Status poll();
  PipelineDevice(std::shared_ptr<Device> device, BufferPool& pool, Registrations& registrations,
                 const PipelineDeviceOptions& options);
  Status open_queues();
  // Records a failure; returns the first one.
  const Error& fail(Error reason);
  Tracer::Clock::time_point epoch() const;
  template <typename Submit>
  Result<std::uint64_t> submit(Stage stage, const Positions& after, Submit&& submit);
  Result<std::uint64_t> add_to_batch(Operation step, const Positions& after);
  Status submit_batch();
  Status submit_for(const Positions& positions);

  const std::shared_ptr<Device> device_;
  BufferPool& pool_;
  Registrations& registrations_;
  PipelineDeviceOptions options_;
  // Whether operations are still reported.
  struct Reports {
    std::mutex mutex;
    bool are_wanted = true;
  };
  const std::shared_ptr<Reports> reports_ = std::make_shared<Reports>();
  const std::shared_ptr<DeviceModel> model_;
  const std::shared_ptr<Pace> pace_;
  PlanMemo plan_memo_;
  bool was_interrupted_ = false;
  StopToken end_;  // lives until the queues have ended
  std::array<std::unique_ptr<Queue>, kStages> queues_;
  std::array<std::shared_ptr<Semaphore>, kStages> semaphores_;
  // For the trace: the number of chunks so far, and the number of the last one in the upper half of the labels of its
  // operations.
  std::uint64_t chunks_ = 0;
  std::uint64_t chunk_label_ = 0;
  std::uint32_t first_track_ = 0;
  Tracer::Kind submit_kind_ = {};
  std::optional<std::uint32_t> compiler_track_;
  bool is_batching_ = false;
  std::vector<Operation> batch_;   // not submitted yet
  std::uint64_t batch_bytes_ = 0;  // as batch_bytes_of() counts them
  Positions batch_after_;          // the positions that its operations wait for
  Positions submitted_;
  Positions done_;  // operations that are known to be done
  // See set_behind().
  Positions behind_;
  Tracer::Clock::time_point behind_since_;
  double behind_seconds_ = 0;
  Positions link_measured_;
  DeviceBlock unread_report_;
  std::optional<Error> failure_;
  struct Held {
    BufferUse use;
    Positions until;
  };
  std::deque<Held> held_;
  DeviceBlocks blocks_;
};

}  // namespace dhpvm::offload
