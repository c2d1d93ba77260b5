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

template <typename Enqueue>
DriverQueue::Enqueued CudaQueue::submit(const char* call, const Waits& waits, Enqueue&& enqueue) {
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
  // From here on it gives back both.
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
    // A part of the operation may be under way; nothing would
    // signal its end, and its resources are released next.
    api.StreamSynchronize(stream_);
    return api.error_of(code, failing);
  }
  return std::unique_ptr<DriverEvent>(std::move(event));
}

DriverQueue::Enqueued CudaQueue::enqueue_copy(const Operation& copy, const Waits& waits) {
  const cu::Api& api = device_.api();
  const cu::Address to = address_of(copy.to);
  const cu::Address from = address_of(copy.from);
  std::byte* const to_host = host_of(copy.to);
  const std::byte* const from_host = host_of(copy.from);
  const std::size_t bytes = copy.to.bytes;
  if (to != 0 && from != 0)
    return submit("cuMemcpyDtoDAsync", waits, [&] { return api.MemcpyDtoDAsync(to, from, bytes, stream_); });
  if (to == 0 && from == 0)
    return enqueue_host_call([=] { std::memcpy(to_host, from_host, bytes); }, copy, waits);
  if (!static_cast<const CudaMemory&>(to == 0 ? *copy.to.memory : *copy.from.memory).is_pinned())
    return submit("a copy from or to pageable memory", waits, [&] { return copy_staged(copy); });
  if (to != 0)
    return submit("cuMemcpyHtoDAsync", waits,
                  [&] { return api.MemcpyHtoDAsync(to, from_host, bytes, stream_); });
  return submit("cuMemcpyDtoHAsync", waits,
                [&] { return api.MemcpyDtoHAsync(to_host, from, bytes, stream_); });
}

// The driver would read pageable memory before the copy's waits have ended, or block until the copy has. So the bytes
// go through a pinned buffer, piece by piece in the order of the stream.
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

DriverQueue::Enqueued CudaQueue::enqueue_nothing(const Waits& waits) {
  return submit("cuEventRecord", waits, [] { return cu::CUDA_SUCCESS; });
}

}  // namespace dhpvm::offload
