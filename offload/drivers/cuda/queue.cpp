// SPDX-License-Identifier: Apache-2.0
#include "offload/drivers/cuda/queue.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "offload/drivers/cuda/kernel.h"
#include "offload/drivers/cuda/memory.h"

namespace dhpvm::offload {
namespace {

constexpr std::size_t kStagingBytes = std::size_t{4} << 20;

// 0 for host memory.
cu::Address address_of(const MemorySpan& span) {
  const cu::Address address = static_cast<const CudaMemory&>(*span.memory).address();
  return address == 0 ? 0 : address + span.offset;
}

std::byte* host_of(const MemorySpan& span) {
  std::byte* const host = span.memory->host();
  return host == nullptr ? nullptr : host + span.offset;
}

}  // namespace

Result<std::unique_ptr<Queue>> CudaQueue::create(CudaDevice& device, QueueOptions options) {
  const CudaCurrent current(device);
  cu::Stream stream = nullptr;
  const cu::Code code = device.api().StreamCreate(&stream, cu::kStreamNonBlocking);
  if (code != cu::CUDA_SUCCESS) return device.api().error_of(code, "cuStreamCreate");
  return std::unique_ptr<Queue>(new CudaQueue(device, stream, std::move(options)));
}

CudaQueue::~CudaQueue() {
  drain();
  const CudaCurrent current(device_);
  device_.api().StreamDestroy(stream_);
  if (staging_ != nullptr) device_.api().MemFreeHost(staging_);
}

bool CudaQueue::is_usable(const DeviceMemory& memory) const {
  return static_cast<const CudaMemory&>(memory).address() != 0;
}

bool CudaQueue::takes_as_one(const std::vector<Operation>& steps) const {
  return device_.api().has_graphs() && steps.size() > 1 &&
         std::ranges::all_of(steps, CudaRecordings::is_recordable);
}

template <typename Enqueue>
Result<std::unique_ptr<CudaEvent>> CudaQueue::submit_one(const char* call, const Waits& waits,
                                                         Enqueue&& enqueue) {
  const CudaCurrent current(device_);
  const cu::Api& api = device_.api();
  const bool timed = observed();
  std::shared_ptr<const CudaMoment> since;
  cu::Event begin = nullptr;
  if (timed) {
    DHPVM_ASSIGN(since, device_.clock().latest());
    DHPVM_ASSIGN(begin, device_.events().take(true));
  }
  Result<cu::Event> end = device_.events().take(timed);
  if (!end.ok()) {
    device_.events().give_back(begin, timed);
    return std::move(end).error();
  }
  // From here on the event releases both.
  auto event = std::make_unique<CudaEvent>(device_, begin, *end, std::move(since));
  for (const SubmissionPointer& submission : waits) {
    const cu::Code code =
        api.StreamWaitEvent(stream_, static_cast<const CudaEvent&>(*submission->event).end(), 0);
    if (code != cu::CUDA_SUCCESS) return api.error_of(code, "cuStreamWaitEvent");
  }
  if (timed) {
    const cu::Code code = api.EventRecord(begin, stream_);
    if (code != cu::CUDA_SUCCESS) return api.error_of(code, "cuEventRecord");
  }
  const char* failing = call;
  cu::Code code = enqueue();
  if (code == cu::CUDA_SUCCESS) {
    failing = "cuEventRecord";
    code = api.EventRecord(*end, stream_);
  }
  if (code != cu::CUDA_SUCCESS) {
    // A part of the operation may be in flight, but nothing would signal its end, and its resources are released next.
    api.StreamSynchronize(stream_);
    return api.error_of(code, failing);
  }
  return event;
}

template <typename Enqueue>
DriverQueue::Enqueued CudaQueue::submit(const char* call, const Waits& waits, Enqueue&& enqueue) {
  DHPVM_ASSIGN(std::unique_ptr<CudaEvent> event, submit_one(call, waits, std::forward<Enqueue>(enqueue)));
  return std::unique_ptr<DriverEvent>(std::move(event));
}

// Copies between memories that the device's engines can access.
cu::Code CudaQueue::copy_whole(const Operation& copy) {
  const cu::Api& api = device_.api();
  const cu::Address to = address_of(copy.to);
  const cu::Address from = address_of(copy.from);
  const std::size_t bytes = copy.to.bytes;
  if (to == 0) return api.MemcpyDtoHAsync(host_of(copy.to), from, bytes, stream_);
  if (from == 0) return api.MemcpyHtoDAsync(to, host_of(copy.from), bytes, stream_);
  return api.MemcpyDtoDAsync(to, from, bytes, stream_);
}

DriverQueue::Enqueued CudaQueue::enqueue_copy(const Operation& copy, const Waits& waits) {
  const bool is_to_host = address_of(copy.to) == 0;
  const bool is_from_host = address_of(copy.from) == 0;
  if (is_to_host && is_from_host) {
    return enqueue_host_call([to = host_of(copy.to), from = host_of(copy.from),
                              bytes = copy.to.bytes] { std::memcpy(to, from, bytes); },
                             copy, waits);
  }
  const MemorySpan& host = is_to_host ? copy.to : copy.from;
  if ((is_to_host || is_from_host) && !static_cast<const CudaMemory&>(*host.memory).is_pinned())
    return submit("a copy from or to pageable memory", waits, [&] { return copy_staged(copy); });
  const char* const call = is_to_host     ? "cuMemcpyDtoHAsync"
                           : is_from_host ? "cuMemcpyHtoDAsync"
                                          : "cuMemcpyDtoDAsync";
  return submit(call, waits, [&] { return copy_whole(copy); });
}

// The driver would read pageable memory before the copy's waits have ended, or block until the copy has. So the bytes
// are copied through a pinned buffer, piece by piece in the order of the stream.
cu::Code CudaQueue::copy_staged(const Operation& copy) {
  const cu::Api& api = device_.api();
  if (staging_ == nullptr) {
    void* memory = nullptr;
    const cu::Code code = api.MemHostAlloc(&memory, kStagingBytes, cu::kHostAllocPortable);
    if (code != cu::CUDA_SUCCESS) return code;
    staging_ = static_cast<std::byte*>(memory);
  }
  const cu::Address to = address_of(copy.to);
  const cu::Address from = address_of(copy.from);
  std::byte* const staging = staging_;
  cu::Code code = cu::CUDA_SUCCESS;
  for (std::size_t done = 0; done < copy.to.bytes && code == cu::CUDA_SUCCESS; done += kStagingBytes) {
    const std::size_t bytes = std::min(copy.to.bytes - done, kStagingBytes);
    const auto move = [&](std::byte* target, const std::byte* source) {
      return device_.host_calls().enqueue(stream_, [=] { std::memcpy(target, source, bytes); }, {}, nullptr);
    };
    if (to != 0) {
      code = move(staging, host_of(copy.from) + done);
      if (code == cu::CUDA_SUCCESS) code = api.MemcpyHtoDAsync(to + done, staging, bytes, stream_);
    } else {
      code = api.MemcpyDtoHAsync(staging, from + done, bytes, stream_);
      if (code == cu::CUDA_SUCCESS) code = move(host_of(copy.to) + done, staging);
    }
  }
  return code;
}

DriverQueue::Enqueued CudaQueue::enqueue_fill(const Operation& fill, const Waits& waits) {
  const auto value = std::to_integer<unsigned char>(fill.value);
  const std::size_t bytes = fill.to.bytes;
  if (const cu::Address to = address_of(fill.to); to != 0)
    return submit("cuMemsetD8Async", waits,
                  [&] { return device_.api().MemsetD8Async(to, value, bytes, stream_); });
  return enqueue_host_call([to = host_of(fill.to), value, bytes] { std::memset(to, value, bytes); }, fill,
                           waits);
}

DriverQueue::Enqueued CudaQueue::enqueue_launch(const Operation& launch, const Waits& waits) {
  const auto& kernel = static_cast<const CudaKernel&>(*launch.kernel);
  DHPVM_TRY(kernel.check(launch));
  return submit("cuLaunchKernel", waits, [&] { return kernel.enqueue(stream_, launch); });
}

DriverQueue::Enqueued CudaQueue::enqueue_host_call(std::function<void()> function, const Operation& operation,
                                                   const Waits& waits) {
  return submit("cuLaunchHostFunc", waits, [&] {
    return device_.host_calls().enqueue(stream_, std::move(function), operation.waits, latest());
  });
}

DriverQueue::Enqueued CudaQueue::enqueue_batch(const Operation& batch, const Waits& waits) {
  const CudaCurrent current(device_);
  for (const Operation& step : batch.steps) {
    if (step.kernel != nullptr) DHPVM_TRY(static_cast<const CudaKernel&>(*step.kernel).check(step));
  }
  CudaRecordings::Recording& recording = recordings_.find(batch.steps);
  if (recording.graph != nullptr) {
    cu::Code code = cu::CUDA_SUCCESS;
    Enqueued event = launch_graph(recording, waits, code);
    if (!cu::is_refused(code)) {
      device_.count_batch(true, "");
      return event;
    }
    recording.graph = nullptr;
    recording.failure = event.error().message();
  }
  device_.count_batch(false, recording.failure);
  return launch_steps(recording, batch.steps, waits);
}

// `code`: the driver's result for the launch.
DriverQueue::Enqueued CudaQueue::launch_graph(const CudaRecordings::Recording& recording, const Waits& waits,
                                              cu::Code& code) {
  DHPVM_ASSIGN(std::unique_ptr<CudaEvent> event,
               submit_one("cuGraphLaunch", waits, [&] { return code = recording.graph->launch(stream_); }));
  event->set_steps(recording.times, {});
  event->keep(recording.graph);
  return std::unique_ptr<DriverEvent>(std::move(event));
}

DriverQueue::Enqueued CudaQueue::launch_steps(const CudaRecordings::Recording& recording,
                                              const std::vector<Operation>& steps, const Waits& waits) {
  const cu::Api& api = device_.api();
  std::vector<cu::Event> ends;
  cu::Code failure = cu::CUDA_SUCCESS;
  while (observed() && ends.size() + 1 < steps.size()) {
    Result<cu::Event> end = device_.events().take(true);
    if (!end.ok()) break;
    ends.push_back(*end);
  }
  const bool can_be_seen = ends.size() + 1 == steps.size();
  const auto enqueue = [&] {
    for (std::size_t n = 0; n < steps.size() && failure == cu::CUDA_SUCCESS; ++n) {
      failure = enqueue_step(steps[n]);
      if (failure == cu::CUDA_SUCCESS && can_be_seen && n < ends.size())
        failure = api.EventRecord(ends[n], stream_);
    }
    return failure;
  };
  Result<std::unique_ptr<CudaEvent>> event = submit_one("launching a batch step by step", waits, enqueue);
  if (!event.ok() || !can_be_seen) {
    for (cu::Event const end : std::exchange(ends, {})) device_.events().give_back(end, true);
  }
  if (!event.ok()) return std::move(event).error();
  if (observed()) (*event)->set_steps(recording.times, std::move(ends));
  return std::unique_ptr<DriverEvent>(std::move(event).value());
}

cu::Code CudaQueue::enqueue_step(const Operation& step) {
  if (step.record.kind != OperationRecord::Kind::kLaunch) return copy_whole(step);
  return static_cast<const CudaKernel&>(*step.kernel).enqueue(stream_, step);
}

DriverQueue::Enqueued CudaQueue::enqueue_nothing(const Waits& waits) {
  return submit("cuEventRecord", waits, [] { return cu::CUDA_SUCCESS; });
}

}  // namespace dhpvm::offload
