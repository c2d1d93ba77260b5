// SPDX-License-Identifier: Apache-2.0
// Workers inside the test's own process, so that remote devices can be tested like all others.
#pragma once

#include <functional>
#include <memory>

#include "codegen/codegen.h"
#include "offload/devices/device_registry.h"

namespace dhpvm::offload {

// Opens "remote/NETWORK/DEVICE", where the network is loopback (inside the process), tcp, sealed (tcp with a key), or
// earlier, former or last (tcp with versions 3, 4 or 5 of the protocol), and the device "host" or "sim". `generator`
// compiles for the workers.
std::unique_ptr<DeviceFactory> test_worker_factory(
    std::function<Result<codegen::CodeGenerator*>()> generator);

}  // namespace dhpvm::offload
