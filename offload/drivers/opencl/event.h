// SPDX-License-Identifier: Apache-2.0
// The command queues and events of OpenCL, as they are shared and waited for here.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include "offload/drivers/driver_event.h"
#include "offload/drivers/opencl/opencl_device.h"

namespace dhpvm::offload {

// Lives as long as its last event.
struct CommandQueue {
  CommandQueue(OpenClDevice& owner, cl_command_queue queue) : device(owner), handle(queue) {}
  ~CommandQueue() { device.api().ReleaseCommandQueue(handle); }
  CommandQueue(const CommandQueue&) = delete;
  CommandQueue& operator=(const CommandQueue&) = delete;

  // Drivers may hold back commands until they are flushed.
  cl_int flush() { return unflushed.exchange(false) ? device.api().Flush(handle) : CL_SUCCESS; }

  OpenClDevice& device;
  cl_command_queue const handle;
  std::atomic<bool> unflushed = false;
};

// The event of a command, or a user event.
class OpenClEvent : public DriverEvent {
 public:
  // Takes over the events: the command's and, if the command is the last of several that form one operation, the first
  // one's. They were enqueued between `before` and `after` on the device's clock, if their queue has an observer.
  OpenClEvent(std::shared_ptr<CommandQueue> queue, cl_event event, DeviceClock::Nanoseconds before = {},
              DeviceClock::Nanoseconds after = {}, cl_event first = nullptr);
  ~OpenClEvent() override;
  OpenClEvent(const OpenClEvent&) = delete;
  OpenClEvent& operator=(const OpenClEvent&) = delete;

  cl_event handle() const { return event_; }
  CommandQueue& queue() const { return *queue_; }

  Result<bool> ended() override;
  void wait(Semaphore::Clock::time_point deadline) override;
  bool measure(std::span<OperationRecord> records) override;

 private:
  const OpenClApi& api() const { return queue_->device.api(); }

  const std::shared_ptr<CommandQueue> queue_;
  cl_event const event_;
  cl_event const first_;
  const DeviceClock::Nanoseconds before_;
  const DeviceClock::Nanoseconds after_;
  std::once_flag ordered_;
  bool calls_back_ = false;  // the driver will call back when the command has ended, unless it forgets to
};

// The event of the barrier after a host call, whose times are known without the driver.
class HostCallEvent final : public OpenClEvent {
 public:
  HostCallEvent(std::shared_ptr<CommandQueue> queue, cl_event event);

  const std::shared_ptr<HostCallTimes>& times() const { return times_; }
  bool measure(std::span<OperationRecord> records) override;

 private:
  const std::shared_ptr<HostCallTimes> times_ = std::make_shared<HostCallTimes>();
};

}  // namespace dhpvm::offload
