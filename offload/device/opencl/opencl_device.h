// SPDX-License-Identifier: Apache-2.0
// Devices of OpenCL 1.2 and newer: "opencl:0", "opencl:1", .. over all platforms.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "offload/device/device_registry.h"

namespace dhpvm::offload {

struct OpenClOptions {
  std::string library = "libOpenCL.so.1";
  std::function<void(const std::string&)> warn;  // takes what the user should know; from any thread
};

// The devices take a parameter: "opencl:0?share=off" copies memory even where the device could work on the host's.
std::unique_ptr<DeviceFactory> create_opencl_factory(OpenClOptions options = {});

}  // namespace dhpvm::offload
