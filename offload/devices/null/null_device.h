// SPDX-License-Identifier: Apache-2.0 A device that computes nothing: a skeleton for new devices
// (docs/adding-a-device.md), and a way to measure what a loop costs apart from the device.
#pragma once

#include "offload/devices/device_base.h"
#include "offload/devices/device_registry.h"

namespace dhpvm::offload {

// Copies and fills are done, so that data come back unchanged. Launches accept any kernel and do nothing;
// info().compute_units is 0 for that reason.
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
