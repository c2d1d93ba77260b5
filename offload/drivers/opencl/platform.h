// SPDX-License-Identifier: Apache-2.0
// Finds OpenCL devices and their capabilities.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "offload/devices/device.h"
#include "offload/drivers/opencl/api.h"

namespace dhpvm::offload {

struct OpenClCandidate {
  cl_platform_id platform = nullptr;
  cl_device_id device = nullptr;
  DeviceInfo info;  // except shares_host_memory, which is known only for an open device
  bool is_gpu = false;
  bool is_cpu = false;
  bool host_unified_memory = false;
  std::optional<Error> problem;  // why the device cannot be used
};

// All devices of all platforms; the index of each is its number. kNotFound when no driver is installed.
Result<std::vector<OpenClCandidate>> find_opencl_devices(const OpenClApi& api);

}  // namespace dhpvm::offload
