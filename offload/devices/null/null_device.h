// SPDX-License-Identifier: Apache-2.0
// A device that computes nothing: the skeleton to copy for a new one (docs/adding-a-device.md), and what remains of the
// cost of a loop when the device costs nothing.
#pragma once

#include "offload/devices/device_base.h"
#include "offload/devices/device_registry.h"

namespace dhpvm::offload {

// Copies and fills are done, so that data come back as they went; launches take any kernel and do nothing, which
// info().compute_units == 0 says.
class NullDevice final : public DeviceBase {
 public:
  NullDevice();

  Result<std::shared_ptr<DeviceMemory>> allocate(std::size_t bytes) override;
  Result<std::shared_ptr<DeviceMemory>> import_host(std::span<std::byte> memory, HostMemory kind) override;
  Result<std::shared_ptr<Kernel>> load(const KernelImage& image) override;
  Result<std::unique_ptr<Queue>> create_queue(QueueOptions options) override;
};

// Opens "null".
std::unique_ptr<DeviceFactory> null_factory();

}  // namespace dhpvm::offload
