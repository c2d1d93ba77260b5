// SPDX-License-Identifier: Apache-2.0
// The devices of workers by name, for the registry of devices.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "offload/devices/device_registry.h"
#include "offload/remote/client/remote_workers.h"

namespace dhpvm::offload {

// Opens "remote/HOST:PORT/DEVICE", and "remote/HOST:PORT" for the first device there. "remote/HOST:PORT" and "remote"
// stand for all GPUs of the worker, or of all workers; for a worker without any, its first device. The function is
// called when workers are first needed; its error is reported every time.
using OpenWorkers = std::function<Result<std::shared_ptr<RemoteWorkers>>()>;
std::unique_ptr<DeviceFactory> remote_factory(OpenWorkers workers);

// Settings for finding workers; used at the first search.
struct RemoteSetup {
  RemoteWorkersOptions options;
  std::string key_file;  // instead of options.credentials.key
  // The wait for the first worker to dial in, if no worker is dialled.
  std::chrono::milliseconds arrival{10'000};
};
// Registers the workers' devices. The library of fabric.h is loaded when they are first needed.
std::unique_ptr<DeviceFactory> remote_factory(RemoteSetup setup);

}  // namespace dhpvm::offload
