// SPDX-License-Identifier: Apache-2.0
#include "offload/device/devices.h"

#include "offload/device/cuda/cuda_device.h"
#include "offload/device/host/host_device.h"
#include "offload/device/opencl/opencl_device.h"
#include "offload/device/sim/sim_device.h"

namespace dhpvm::offload {

void add_devices(DeviceRegistry& registry, const std::shared_ptr<ThreadPool>& pool) {
  // An NVIDIA GPU is an OpenCL device as well: the first of the two that finds it is preferred.
  registry.add(cuda_factory());
  registry.add(opencl_factory());
  registry.add(host_factory(pool));
  registry.add(sim_factory(pool));
}

}  // namespace dhpvm::offload
