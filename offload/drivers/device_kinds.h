// SPDX-License-Identifier: Apache-2.0
// The devices that programs may run on.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "offload/devices/device_registry.h"

namespace dhpvm::offload {

// Registers every kind of device of this build. Kernels for the host's cores run on `pool`. The null device is left
// out, so that nobody takes results that were never computed for computed ones.
void add_devices(DeviceRegistry& registry, const std::shared_ptr<ThreadPool>& pool);

// The kinds in device_kinds.def: prefixes of the names of devices on vendors' drivers.
std::vector<std::string> driver_kinds();

}  // namespace dhpvm::offload
