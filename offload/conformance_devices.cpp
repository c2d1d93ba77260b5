// SPDX-License-Identifier: Apache-2.0
// The devices of the program device_conformance: every kind of this build, the null device, and workers in
// this process.
#include <memory>

#include "base/thread_pool.h"
#include "offload/devices/conformance/conformance.h"
#include "offload/devices/null/null_device.h"
#include "offload/drivers/device_kinds.h"
#include "offload/remote/workers_for_tests.h"

namespace dhpvm::offload {

void add_conformance_devices(DeviceRegistry& registry, TestKernels& kernels) {
  add_devices(registry, std::make_shared<ThreadPool>(4));
  registry.add(null_factory());
  registry.add(test_worker_factory([&kernels] { return kernels.generator(); }));
}

std::vector<std::string> conformance_drivers() { return driver_kinds(); }

}  // namespace dhpvm::offload
