// SPDX-License-Identifier: Apache-2.0
// The common part of the queues and kernels of all drivers. The vendor's classes decide how the driver gets an
// operation.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "codegen/device_code.h"
#include "offload/devices/checked_queue.h"
#include "offload/drivers/launch_grid.h"
#include "offload/drivers/submission.h"

namespace dhpvm::offload {

// A kernel that a driver has compiled, and how it is called.
class DriverKernel : public OwnedKernel {
 public:
  DriverKernel(const DeviceBase& owner, const KernelImage& image);

  const std::vector<codegen::KernelParameter>& parameters() const { return parameters_; }
  // The size that groups must have; 0: any.
  std::uint32_t group() const { return needs_.group; }
  codegen::Dealing dealing() const { return needs_.dealing; }
  bool has_squares() const { return needs_.has_squares; }
  LaunchGrid grid_for(const IterationSpace& space, const GridLimits& limits) const {
    return plan_grid(space, needs_, limits);
  }
  // The result of Kernel::row_unit().
  std::uint64_t rows_for(const IterationSpace& space, const GridLimits& limits) const {
    const std::uint64_t squares = rows_for_squares(space, limits);
    return squares > 1 ? squares : rows_to_fill(space, needs_, limits);
  }

 private:
  const std::vector<codegen::KernelParameter> parameters_;
  const GridNeeds needs_;
};

// The value of a parameter that is not a place in memory.
std::uint64_t value_of(const codegen::KernelParameter& parameter, const Operation& launch);
// The memory that a parameter refers to; null if it is a value.
const MemorySpan* span_of(const codegen::KernelParameter& parameter, const Operation& launch);

class DriverQueue : public CheckedQueue {
 protected:
  // Submissions of other queues that must end before an operation begins. Each has an event.
  using Waits = std::vector<SubmissionPointer>;
  using Enqueued = Result<std::unique_ptr<DriverEvent>>;

  DriverQueue(DeviceBase& device, SubmissionTracker& tracker, QueueOptions options);

  // For the vendor's destructor: blocks until all operations are done.
  void drain() { tracker_.drain(*ledger_); }
  // The last submission if it is in flight; otherwise null.
  SubmissionPointer latest() { return tracker_.latest(*ledger_); }
  bool observed() const { return ledger_->observer != nullptr; }

  // The size is at least one byte.
  virtual Enqueued enqueue_copy(const Operation& copy, const Waits& waits) = 0;
  virtual Enqueued enqueue_fill(const Operation& fill, const Waits& waits) = 0;
  virtual Enqueued enqueue_launch(const Operation& launch, const Waits& waits) = 0;
  // The function is not called when one of the operation's waits, or an earlier operation of this queue, fails.
  virtual Enqueued enqueue_host_call(std::function<void()> function, const Operation& operation,
                                     const Waits& waits) = 0;
  // Called only for batches for which takes_as_one() is true.
  virtual Enqueued enqueue_batch(const Operation& batch, const Waits& waits);
  // Ends when `waits` and all earlier operations have ended.
  virtual Enqueued enqueue_nothing(const Waits& waits) = 0;
  // Whether kernels of this device can access the memory.
  virtual bool is_usable(const DeviceMemory& memory) const = 0;

  Status admit(const Operation& operation) const final;
  void submit(Operation operation) final;

 private:
  Enqueued enqueue(const Operation& operation, const Waits& waits);

  SubmissionTracker& tracker_;
  const std::shared_ptr<QueueLedger> ledger_;
};

}  // namespace dhpvm::offload
