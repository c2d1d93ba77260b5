// SPDX-License-Identifier: Apache-2.0
#include "offload/drivers/opencl/event.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/error.h"

namespace dhpvm::offload {
namespace {

// The longest wait for a callback; then the event itself is polled.
constexpr std::chrono::milliseconds kLookAnyway(5);

}  // namespace

OpenClEvent::OpenClEvent(std::shared_ptr<CommandQueue> queue, cl_event event, DeviceClock::Nanoseconds before,
                         DeviceClock::Nanoseconds after, cl_event first)
    : queue_(std::move(queue)), event_(event), first_(first), before_(before), after_(after) {}

OpenClEvent::~OpenClEvent() {
  if (first_ != nullptr) api().ReleaseEvent(first_);
  api().ReleaseEvent(event_);
}

Result<bool> OpenClEvent::ended() {
  queue_->flush();
  cl_int status = CL_QUEUED;
  const cl_int code =
      api().GetEventInfo(event_, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, nullptr);
  if (code != CL_SUCCESS) return opencl_error(code, "clGetEventInfo");
  if (status > CL_COMPLETE) return false;
  if (status < CL_COMPLETE)
    return error(ErrorCode::kDeviceFailed, "the driver ended the command with {}", opencl_error_name(status));
  // By the standard, only a wait makes the command's writes visible. It returns at once here.
  api().WaitForEvents(1, &event_);
  return true;
}

void OpenClEvent::wait(Semaphore::Clock::time_point deadline) {
  queue_->flush();
  if (deadline == Semaphore::Clock::time_point::max()) {
    api().WaitForEvents(1, &event_);
    return;
  }
  // OpenCL has no wait with a deadline.
  EventCallbacks& callbacks = queue_->device.callbacks();
  const std::uint64_t calls = callbacks.calls();
  std::call_once(ordered_, [&] { calls_back_ = callbacks.order(event_); });
  if (!calls_back_) {
    poll(*this, deadline);
    return;
  }
  const Result<bool> ended_before = ended();
  if (!ended_before.ok() || *ended_before) return;
  // Not every driver calls back when a command fails; that is detected a little later.
  callbacks.wait(calls, std::min(deadline, Semaphore::Clock::now() + kLookAnyway));
}

bool OpenClEvent::measure(std::span<OperationRecord> records) {
  const auto read = [this](cl_event event, cl_profiling_info name, cl_ulong& value) {
    return api().GetEventProfilingInfo(event, name, sizeof(value), &value, nullptr) == CL_SUCCESS;
  };
  cl_event const first = first_ != nullptr ? first_ : event_;
  cl_ulong queued = 0;
  cl_ulong begin = 0;
  cl_ulong end = 0;
  if (!read(first, CL_PROFILING_COMMAND_QUEUED, queued) || !read(first, CL_PROFILING_COMMAND_START, begin) ||
      !read(event_, CL_PROFILING_COMMAND_END, end))
    return false;
  DeviceClock& clock = queue_->device.clock();
  clock.compare(before_, after_, queued);
  records[0].begin = clock.convert(begin);
  records[0].end = clock.convert(end);
  return true;
}

HostCallEvent::HostCallEvent(std::shared_ptr<CommandQueue> queue, cl_event event)
    : OpenClEvent(std::move(queue), event) {}

bool HostCallEvent::measure(std::span<OperationRecord> records) {
  if (!times_->called) return false;
  records[0].begin = times_->begin;
  records[0].end = times_->end;
  return true;
}

}  // namespace dhpvm::offload
