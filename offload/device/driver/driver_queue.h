// SPDX-License-Identifier: Apache-2.0
// What the queues of all drivers do alike: check what they are asked to, order it, and keep what it uses alive. How an
// operation is given to the driver is for the vendor's class to say.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "codegen/device_code.h"
#include "dhpvm/result.h"
#include "offload/device/device.h"
#include "offload/device/driver/counters.h"
#include "offload/device/driver/operation.h"

namespace dhpvm::offload {

// Memory of one device with a driver.
class DriverMemory : public DeviceMemory {
 public:
  // `owner` tells devices apart.
  DriverMemory(const void* owner, std::size_t size, std::byte* host, bool imported)
      : owner_(owner), size_(size), host_(host), imported_(imported) {}

  std::size_t size() const final { return size_; }
  std::byte* host() const final { return host_; }
  const void* owner() const { return owner_; }
  bool imported() const { return imported_; }

 private:
  const void* owner_;
  std::size_t size_;
  std::byte* host_;
  bool imported_;
};

// A kernel that a driver has compiled, and how it wants to be called.
class DriverKernel : public Kernel {
 public:
  DriverKernel(const void* owner, const KernelImage& image);

  const void* owner() const { return owner_; }
  const std::shared_ptr<const std::string>& name() const { return name_; }
  const std::vector<codegen::KernelParameter>& parameters() const { return parameters_; }
  std::uint32_t group() const { return group_; }
  // Work-items that have something to do in a launch over `space`.
  std::uint64_t useful_items(const IterationSpace& space) const;
  // Whether the launch has what the kernel wants.
  Status check(const Launch& launch) const;

 private:
  const void* owner_;
  std::shared_ptr<const std::string> name_;
  std::vector<codegen::KernelParameter> parameters_;
  std::uint32_t dimensions_;
  std::uint32_t scalars_;
  std::uint32_t arrays_;
  std::uint32_t reductions_;
  std::uint32_t group_;
  bool reports_;
};

// The value of a parameter of a launch that is neither a place in memory nor an offset into it.
std::uint64_t value_of(const codegen::KernelParameter& parameter, const Launch& launch);

class DriverQueue : public Queue {
 public:
  Status copy(const MemorySpan& to, const MemorySpan& from, const Order& order, std::uint64_t label) final;
  Status fill(const MemorySpan& to, std::byte value, const Order& order, std::uint64_t label) final;
  Status launch(const Launch& launch, const Order& order, std::uint64_t label) final;
  Status host_call(std::function<void()> function, const Order& order, std::uint64_t label) final;

 protected:
  // What must have ended before an operation begins: operations of other queues, each with an event.
  using Waits = std::vector<std::shared_ptr<Operation>>;
  using Enqueued = Result<std::unique_ptr<DriverEvent>>;

  DriverQueue(const void* owner, const std::string& device, std::shared_ptr<OperationTracker> tracker,
              std::shared_ptr<DeviceCounters> counters, QueueOptions options);

  // For the vendor's destructor: blocks until all is done.
  void drain() { tracker_->drain(*ledger_); }
  // The last operation submitted, if that is in flight.
  std::shared_ptr<Operation> latest() const { return tracker_->latest(*ledger_); }
  bool observed() const { return ledger_->observer != nullptr; }

  // Spans are checked, of equal and positive size, and do not overlap.
  virtual Enqueued enqueue_copy(const MemorySpan& to, const MemorySpan& from, const Waits& waits) = 0;
  virtual Enqueued enqueue_fill(const MemorySpan& to, std::byte value, const Waits& waits) = 0;
  virtual Enqueued enqueue_launch(const Launch& launch, const Waits& waits) = 0;
  // The function is not called when one of `waits`, or an operation before it in this queue, fails.
  virtual Enqueued enqueue_host_call(std::function<void()> function, const Waits& waits) = 0;
  // Ends when all before it has ended.
  virtual Enqueued enqueue_nothing(const Waits& waits) = 0;
  // Whether kernels of this device can work on the memory.
  virtual bool is_usable(const DriverMemory& memory) const = 0;

 private:
  Status check(const MemorySpan& span, const char* what) const;
  Status check(const Launch& launch) const;
  template <typename Enqueue>
  Status submit(const Order& order, OperationRecord record, std::shared_ptr<const std::string> kernel,
                std::vector<std::shared_ptr<const void>> uses, Enqueue&& enqueue);

  const void* const owner_;
  const std::shared_ptr<OperationTracker> tracker_;
  const std::shared_ptr<DeviceCounters> counters_;
  const std::shared_ptr<QueueLedger> ledger_;
};

}  // namespace dhpvm::offload
