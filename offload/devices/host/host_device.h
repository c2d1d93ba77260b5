// SPDX-License-Identifier: Apache-2.0
// The cores of the host as a device: kernels are machine code, and use host memory in place.
#pragma once

#include <memory>

#include "base/thread_pool.h"
#include "offload/devices/device_base.h"
#include "offload/devices/device_registry.h"

namespace dhpvm::offload {

enum class HostExecution : std::uint8_t {
  // Each queue has a thread: submitting returns at once, and queues run concurrently.
  kThreaded,
  // The submitting thread does each operation before submission returns, so the order of submission is the only order.
  // The reference for the behaviour of devices.
  kInline,
};

// Kernels use imported memory in place; copying it to memory of the device gains nothing.
class HostDevice final : public DeviceBase {
 public:
  // Kernels run on `pool`.
  HostDevice(std::shared_ptr<ThreadPool> pool, HostExecution execution);

  Result<std::shared_ptr<DeviceMemory>> allocate(std::size_t bytes) override;
  Result<std::shared_ptr<DeviceMemory>> import_host(std::span<std::byte> memory, HostMemory kind) override;
  Result<std::shared_ptr<Kernel>> load(const KernelImage& image) override;
  Result<std::unique_ptr<Queue>> create_queue(QueueOptions options) override;

 private:
  const std::shared_ptr<ThreadPool> pool_;
  const HostExecution execution_;
};

// Opens "host" and "host?inline".
std::unique_ptr<DeviceFactory> host_factory(std::shared_ptr<ThreadPool> pool);

}  // namespace dhpvm::offload
