// SPDX-License-Identifier: Apache-2.0
// Sessions in the worker's own process: for workers inside other programs, and for connections that cannot be passed to
// another process. A crash in one of them ends all of them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "offload/devices/device.h"
#include "offload/remote/fabric/fabric.h"
#include "offload/remote/worker/session_runner.h"
#include "offload/remote/worker/worker_options.h"

namespace dhpvm::offload {

// Called before a session opens a device, with its number; an error makes the opening fail. For tests that hold devices
// back.
using DeviceGate = std::function<Status(std::uint64_t device)>;

// Fabric and transport must outlive it.
std::unique_ptr<SessionRunner> make_local_sessions(Fabric& fabric, Transport& transport,
                                                   std::vector<std::shared_ptr<Device>> devices,
                                                   WorkerOptions options, DeviceGate gate = {});

}  // namespace dhpvm::offload
