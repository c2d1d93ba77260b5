// SPDX-License-Identifier: Apache-2.0
// The devices that programs may run on.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/thread_pool.h"
#include "offload/device/device_registry.h"

namespace dhpvm::offload {

// Registers every kind of device of this build. Kernels for the host's cores run on `pool`. The null device is not among
// them: what computes nothing must not be taken for what computes. `warn` takes what users should know of their drivers,
// from any thread; it may be empty.
void add_devices(DeviceRegistry& registry, const std::shared_ptr<ThreadPool>& pool,
                 std::function<void(const std::string&)> warn = {});

}  // namespace dhpvm::offload
