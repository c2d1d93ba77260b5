// SPDX-License-Identifier: Apache-2.0
#include "offload/drivers/opencl/queue.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "offload/drivers/opencl/event.h"
#include "offload/drivers/opencl/kernel.h"
#include "offload/drivers/opencl/memory.h"

namespace dhpvm::offload {
namespace {

using Nanoseconds = DeviceClock::Nanoseconds;

// The longest pattern that OpenCL allows and that fits `bytes` and `offset`: drivers write one pattern at a time.
std::size_t pattern_size(std::size_t offset, std::size_t bytes) {
  std::size_t size = 128;
  while (offset % size != 0 || bytes % size != 0) size /= 2;
  return size;
}

const OpenClMemory& memory_of(const MemorySpan& span) {
  return static_cast<const OpenClMemory&>(*span.memory);
}

}  // namespace

OpenClQueue::OpenClQueue(std::shared_ptr<CommandQueue> queue, QueueOptions options)
    : DriverQueue(queue->device, queue->device.tracker(), std::move(options)), queue_(std::move(queue)) {}

Result<std::unique_ptr<Queue>> OpenClQueue::create(OpenClDevice& device, QueueOptions options) {
  const cl_command_queue_properties properties = options.observer ? CL_QUEUE_PROFILING_ENABLE : 0;
  cl_int code = CL_SUCCESS;
  cl_command_queue const handle =
      device.api().CreateCommandQueue(device.context(), device.candidate().device, properties, &code);
  if (code != CL_SUCCESS) return opencl_error(code, "clCreateCommandQueue");
  return std::unique_ptr<Queue>(
      new OpenClQueue(std::make_shared<CommandQueue>(device, handle), std::move(options)));
}

Status OpenClQueue::flush() {
  const cl_int code = queue_->flush();
  if (code != CL_SUCCESS) return opencl_error(code, "clFlush");
  return {};
}

bool OpenClQueue::is_usable(const DeviceMemory& memory) const {
  return static_cast<const OpenClMemory&>(memory).buffer() != nullptr;
}

template <typename Enqueue>
DriverQueue::Enqueued OpenClQueue::submit(const char* call, const Waits& waits, Enqueue&& enqueue) {
  std::vector<cl_event> events;
  events.reserve(waits.size());
  for (const SubmissionPointer& submission : waits) {
    const auto& event = static_cast<const OpenClEvent&>(*submission->event);
    // A command may wait for one of another queue only if that is sure to run.
    event.queue().flush();
    events.push_back(event.handle());
  }
  const DeviceClock& clock = queue_->device.clock();
  const Nanoseconds before = observed() ? clock.now() : Nanoseconds(0);
  cl_event event = nullptr;
  cl_event first = nullptr;
  const cl_int code = enqueue(static_cast<cl_uint>(events.size()), events.empty() ? nullptr : events.data(),
                              &event, observed() ? &first : nullptr);
  if (code != CL_SUCCESS) {
    if (first != nullptr) queue_->device.api().ReleaseEvent(first);
    return opencl_error(code, call);
  }
  const Nanoseconds after = observed() ? clock.now() : Nanoseconds(0);
  queue_->unflushed = true;
  return std::unique_ptr<DriverEvent>(std::make_unique<OpenClEvent>(queue_, event, before, after, first));
}

DriverQueue::Enqueued OpenClQueue::enqueue_copy(const Operation& copy, const Waits& waits) {
  const MemorySpan& to = copy.to;
  const MemorySpan& from = copy.from;
  const OpenClApi& api = queue_->device.api();
  cl_mem const target = memory_of(to).buffer();
  cl_mem const source = memory_of(from).buffer();
  std::byte* const target_address = to.memory->host() + to.offset;
  const std::byte* const source_address = from.memory->host() + from.offset;
  if (target != nullptr && source != nullptr)
    return submit("clEnqueueCopyBuffer", waits,
                  [&](cl_uint count, const cl_event* events, cl_event* event, cl_event* /*first*/) {
                    return api.EnqueueCopyBuffer(queue_->handle, source, target, from.offset, to.offset,
                                                 to.bytes, count, events, event);
                  });
  if (target != nullptr)
    return submit("clEnqueueWriteBuffer", waits,
                  [&](cl_uint count, const cl_event* events, cl_event* event, cl_event* /*first*/) {
                    return api.EnqueueWriteBuffer(queue_->handle, target, CL_FALSE, to.offset, to.bytes,
                                                  source_address, count, events, event);
                  });
  if (source != nullptr)
    return submit("clEnqueueReadBuffer", waits,
                  [&](cl_uint count, const cl_event* events, cl_event* event, cl_event* /*first*/) {
                    return api.EnqueueReadBuffer(queue_->handle, source, CL_FALSE, from.offset, from.bytes,
                                                 target_address, count, events, event);
                  });
  // The device knows neither memory.
  return enqueue_host_call([=, bytes = to.bytes] { std::memcpy(target_address, source_address, bytes); },
                           copy, waits);
}

DriverQueue::Enqueued OpenClQueue::enqueue_fill(const Operation& fill, const Waits& waits) {
  const MemorySpan& to = fill.to;
  const std::byte value = fill.value;
  cl_mem const target = memory_of(to).buffer();
  if (target == nullptr)
    return enqueue_host_call([address = to.memory->host() + to.offset, value,
                              bytes = to.bytes] { std::memset(address, std::to_integer<int>(value), bytes); },
                             fill, waits);
  std::array<std::byte, 128> pattern;
  pattern.fill(value);
  return submit("clEnqueueFillBuffer", waits,
                [&](cl_uint count, const cl_event* events, cl_event* event, cl_event* /*first*/) {
                  return queue_->device.api().EnqueueFillBuffer(queue_->handle, target, pattern.data(),
                                                                pattern_size(to.offset, to.bytes), to.offset,
                                                                to.bytes, count, events, event);
                });
}

DriverQueue::Enqueued OpenClQueue::enqueue_launch(const Operation& launch, const Waits& waits) {
  auto& kernel = static_cast<OpenClKernel&>(*launch.kernel);
  return submit("clEnqueueNDRangeKernel", waits,
                [&](cl_uint count, const cl_event* events, cl_event* event, cl_event* first) {
                  return kernel.enqueue(queue_->handle, launch, {events, count}, event, first);
                });
}

DriverQueue::Enqueued OpenClQueue::enqueue_nothing(const Waits& waits) {
  return submit("clEnqueueMarkerWithWaitList", waits,
                [&](cl_uint count, const cl_event* events, cl_event* event, cl_event* /*first*/) {
                  return queue_->device.api().EnqueueMarkerWithWaitList(queue_->handle, count, events, event);
                });
}

DriverQueue::Enqueued OpenClQueue::enqueue_host_call(std::function<void()> function,
                                                     const Operation& operation, const Waits& waits) {
  OpenClDevice& owner = queue_->device;
  DHPVM_TRY(owner.host_caller().start());
  HostCall call;
  call.function = std::move(function);
  call.waits = operation.waits;
  call.previous = latest();
  DHPVM_ASSIGN(call.marker, enqueue_nothing(waits));
  cl_int code = CL_SUCCESS;
  cl_event const returned = owner.api().CreateUserEvent(owner.context(), &code);
  if (code != CL_SUCCESS) return opencl_error(code, "clCreateUserEvent");
  call.returned = std::make_unique<OpenClEvent>(queue_, returned);
  cl_event barrier = nullptr;
  code = owner.api().EnqueueBarrierWithWaitList(queue_->handle, 1, &returned, &barrier);
  if (code != CL_SUCCESS) return opencl_error(code, "clEnqueueBarrierWithWaitList");
  auto event = std::make_unique<HostCallEvent>(queue_, barrier);
  call.times = event->times();
  queue_->unflushed = true;
  queue_->flush();
  owner.host_caller().add(std::move(call));
  return std::unique_ptr<DriverEvent>(std::move(event));
}

}  // namespace dhpvm::offload
