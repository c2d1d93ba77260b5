// SPDX-License-Identifier: Apache-2.0
#include "offload/drivers/device_kinds.h"

#include "offload/devices/host/host_device.h"
#include "offload/devices/sim/sim_device.h"

namespace dhpvm::offload {

#define X(kind) std::unique_ptr<DeviceFactory> kind##_factory();
#include "offload/drivers/device_kinds.def"
#undef X

std::vector<std::string> driver_kinds() {
  return {
#define X(kind) #kind,
#include "offload/drivers/device_kinds.def"
#undef X
  };
}

void add_devices(DeviceRegistry& registry, const std::shared_ptr<ThreadPool>& pool) {
#define X(kind) registry.add(kind##_factory());
#include "offload/drivers/device_kinds.def"
#undef X
  registry.add(host_factory(pool));
  registry.add(sim_factory(pool));
}

}  // namespace dhpvm::offload
