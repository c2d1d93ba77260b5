// SPDX-License-Identifier: Apache-2.0
// A queue that checks operations before it submits them: devices derived from it see only valid operations, each as one
// object that holds all it needs.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "offload/devices/device_base.h"
#include "offload/devices/operation.h"

namespace dhpvm::offload {

class CheckedQueue : public Queue {
 public:
  CheckedQueue(DeviceBase& device, QueueOptions options) : device_(device), options_(std::move(options)) {}

  Status copy(const MemorySpan& to, const MemorySpan& from, const Order& order, std::uint64_t label) final;
  Status fill(const MemorySpan& to, std::byte value, const Order& order, std::uint64_t label) final;
  Status launch(const Launch& launch, const Order& order, std::uint64_t label) final;
  Status write(const MemorySpan& to, std::span<const std::byte> bytes, const Order& order,
               std::uint64_t label) final;
  Status host_call(std::function<void()> function, const Order& order, std::uint64_t label) final;
  Status batch(std::vector<Operation> steps, const Order& order) final;

 protected:
  // Whether submit() takes these checked steps as one operation; otherwise it is called for each of them.
  virtual bool takes_as_one(const std::vector<Operation>&) const { return false; }
  // The reason why this device cannot do an operation that is otherwise valid. The caller gets it, before any signal is
  // promised. By default, a device refuses launches on host memory unless it shares that memory.
  virtual Status admit(const Operation& operation) const;
  // Called once for every operation, after its signals have been promised: finish() must be called, and makes each of
  // them reached or failed. From here on, a failure is reported to the threads that wait, not to the caller.
  virtual void submit(Operation operation) = 0;

  // The next two are for devices whose operations are done by host threads. They are called for the operations of a
  // queue in order, by one thread at a time.
  //
  // Waits until the operation may begin. Returns an error if it may not: that of a semaphore, or of an earlier
  // operation of the queue.
  Status await(const Operation& operation) const;
  // Ends an operation: counts it, releases its memory, signals, and calls the observer; or, with an error, makes it and
  // all later operations fail. The times in its record, or in those of its steps, must be filled in.
  void finish(Operation operation, Status status);

  DeviceBase& device() const { return device_; }
  const QueueOptions& options() const { return options_; }
  // "copying 4096 bytes to device 'sim' in queue 'upload'": for messages.
  std::string describe(const Operation& operation) const;

 private:
  Status accept(Operation operation, const Order& order);
  // Each checks an operation and fills in its record.
  Status check(Operation& operation) const;
  Status check_copy(const Operation& operation) const;
  Status check_write(const Operation& operation) const;
  Status check_launch(const Operation& operation) const;
  Status check_array(const ArrayArgument& array, std::size_t index) const;
  bool lies_inside(const MemorySpan& span) const;
  Status check(const MemorySpan& span, std::string_view what) const;
  void end(Operation& operation) const;

  DeviceBase& device_;
  const QueueOptions options_;
  std::optional<Error> failure_;
};

}  // namespace dhpvm::offload
