// SPDX-License-Identifier: Apache-2.0
// The NUMA nodes of the host as devices: "numa:0", "numa:1". A node consists of some processors and the memory next to
// them; a machine with several sockets has at least one node for each. Loops on such a device run on the node's
// processors, with their arrays copied to the node's memory.
#pragma once

#include "base/thread_pool.h"
#include "offload/devices/device_base.h"
#include "offload/devices/device_registry.h"
#include "offload/drivers/numa/topology.h"

namespace dhpvm::offload {

class NumaDevice final : public DeviceBase {
 public:
  explicit NumaDevice(const NumaNode& node);

  Result<std::shared_ptr<DeviceMemory>> allocate(std::size_t bytes) override;
  Result<std::shared_ptr<DeviceMemory>> import_host(std::span<std::byte> memory, HostMemory kind) override;
  Result<std::shared_ptr<Kernel>> load(const KernelImage& image) override;
  Result<std::unique_ptr<Queue>> create_queue(QueueOptions options) override;

 private:
  const NumaNode node_;
  // The threads of queues start its threads, which inherit their processors.
  ThreadPool pool_;
};

// Opens "numa:0" and so on.
std::unique_ptr<DeviceFactory> numa_factory();

}  // namespace dhpvm::offload
