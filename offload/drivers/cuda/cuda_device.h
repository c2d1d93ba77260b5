// SPDX-License-Identifier: Apache-2.0
// NVIDIA GPUs by CUDA's driver API: "cuda:0", "cuda:1", ..
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "offload/devices/batch_recorder.h"
#include "offload/devices/device_base.h"
#include "offload/devices/device_registry.h"
#include "offload/drivers/cuda/driver_api.h"
#include "offload/drivers/cuda/event.h"
#include "offload/drivers/cuda/host_calls.h"
#include "offload/drivers/cuda/memory_cache.h"
#include "offload/drivers/submission.h"

namespace dhpvm::offload {

// The driver is the library that DHPVM_CUDA_LIBRARY names, or else libcuda.so.1; or `library`.
std::unique_ptr<DeviceFactory> cuda_factory();
std::unique_ptr<DeviceFactory> cuda_factory(std::string library);

class CudaDevice final : public DeviceBase, public BatchRecorder {
 public:
  static Result<std::unique_ptr<Device>> open(std::shared_ptr<const cu::Api> api, cu::Ordinal ordinal,
                                              DeviceInfo info);
  ~CudaDevice() override;

  Result<std::shared_ptr<DeviceMemory>> allocate(std::size_t bytes) override;
  Result<std::shared_ptr<DeviceMemory>> import_host(std::span<std::byte> memory, HostMemory kind) override;
  Result<std::shared_ptr<Kernel>> load(const KernelImage& image) override;
  Result<std::unique_ptr<Queue>> create_queue(QueueOptions options) override;
  Result<std::shared_ptr<Semaphore>> create_semaphore(std::uint64_t initial) override;
  DeviceStats stats() const override;
  Refusals refusals() const override;

  const cu::Api& api() const { return *api_; }
  cu::Ordinal ordinal() const { return ordinal_; }
  cu::Context context() const { return context_; }
  CudaEventPool& events() { return parts_->events; }
  CudaClock& clock() { return parts_->clock; }
  CudaMemoryCache& memory() { return parts_->memory; }
  CudaHostCalls& host_calls() { return parts_->host_calls; }
  SubmissionTracker& tracker() { return parts_->tracker; }
  // Numbers for memories and kernels.
  std::uint64_t next_number() { return ++numbers_; }
  // The driver has got a batch: as a graph, or, with `refusal`, the reason why not although the batch has come again.
  void count_batch(bool is_graph, const std::string& refusal);

 private:
  // Parts that must be destroyed while the context still exists and is current.
  struct Parts {
    explicit Parts(CudaDevice& device);
    CudaEventPool events;
    CudaClock clock;
    CudaMemoryCache memory;
    SubmissionTracker tracker;
    CudaHostCalls host_calls;
  };

  CudaDevice(std::shared_ptr<const cu::Api> api, cu::Ordinal ordinal, cu::Context context, DeviceInfo info);

  const std::shared_ptr<const cu::Api> api_;
  const cu::Ordinal ordinal_;
  cu::Context const context_;
  std::atomic<std::uint64_t> numbers_ = 0;
  std::unique_ptr<Parts> parts_;
  mutable std::mutex mutex_;  // guards what follows
  std::uint64_t batches_ = 0;
  std::uint64_t graphs_ = 0;
  Refusals refusals_;
};

// Makes the device's context current on the calling thread for its own lifetime, and then restores the last one,
// because the thread may belong to an application that uses CUDA itself.
class CudaCurrent {
 public:
  explicit CudaCurrent(const CudaDevice& device) : CudaCurrent(device.api(), device.context()) {}
  CudaCurrent(const cu::Api& api, cu::Context context)
      : api_(api), pushed_(api.CtxPushCurrent(context) == cu::CUDA_SUCCESS) {}
  ~CudaCurrent() {
    cu::Context popped = nullptr;
    if (pushed_) api_.CtxPopCurrent(&popped);
  }
  CudaCurrent(const CudaCurrent&) = delete;
  CudaCurrent& operator=(const CudaCurrent&) = delete;

 private:
  const cu::Api& api_;
  const bool pushed_;
};

}  // namespace dhpvm::offload
