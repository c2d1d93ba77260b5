// SPDX-License-Identifier: Apache-2.0
#include "offload/drivers/device_kinds.h"

#include "offload/devices/host/host_device.h"
#include "offload/devices/sim/sim_device.h"
#include "offload/drivers/cuda/cuda_device.h"
#include "offload/drivers/opencl/opencl_device.h"

namespace dhpvm::offload {

void add_devices(DeviceRegistry& registry, const std::shared_ptr<ThreadPool>& pool) {
  // An NVIDIA GPU is an OpenCL device as well: the first of the two that finds it is preferred.
  registry.add(cuda_factory());
  registry.add(opencl_factory());
  registry.add(host_factory(pool));
  registry.add(sim_factory(pool));
}

}  // namespace dhpvm::offload
