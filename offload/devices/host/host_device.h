// SPDX-License-Identifier: Apache-2.0
// The cores of the host as a device: machine code, on the memory that is there.
#pragma once

#include <memory>

#include "base/thread_pool.h"
#include "offload/devices/device_base.h"
#include "offload/devices/device_registry.h"

namespace dhpvm::offload {

enum class HostExecution : std::uint8_t {
  // Each queue has a thread, so that submitting returns at once and queues run concurrently.
  kThreaded,
  // The submitting thread does each operation before submission returns. The reference for the behaviour of devices:
  // the order of submission is the only order.
  kInline,
};

// Imported memory is used where it is, and copying it to memory of the device gains nothing.
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
