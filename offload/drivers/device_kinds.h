// SPDX-License-Identifier: Apache-2.0
// The devices that programs may run on.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "offload/devices/device_registry.h"

namespace dhpvm::offload {

// Registers every kind of device of this build. Kernels for the host's cores run on `pool`. The null device
// is not among them: what computes nothing must not be taken for what computes.
void add_devices(DeviceRegistry& registry, const std::shared_ptr<ThreadPool>& pool);

// Those of device_kinds.def: what the names of devices on vendors' drivers begin with.
std::vector<std::string> driver_kinds();

}  // namespace dhpvm::offload
