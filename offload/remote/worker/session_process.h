// SPDX-License-Identifier: Apache-2.0
// The process of a session, from inside.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "offload/devices/device.h"
#include "offload/remote/fabric/fabric.h"
#include "offload/remote/worker/session_control.h"
#include "offload/remote/worker/worker_options.h"

namespace dhpvm::offload {

// The first thing to do: the process ends with the worker, and gives up its rights (session_rights.h) but those to
// change files in `folders`. Returns those that the system could not take away. kInvalidArgument where no worker is at
// the other end.
Result<std::string> enter_session_process(const control::Socket& control,
                                          const std::vector<std::string>& folders);
// Tells the worker why there can be no session.
void refuse_session(const control::Socket& control, const Error& reason);

// Serves one session for the worker at the other end of `control`. The process ends with the session, or with the
// worker. Identity and seal of the options are not used: the worker has authenticated the client. `rights`: those that
// enter_session_process() has returned.
[[noreturn]] void serve_session(const control::Socket& control, Fabric& fabric, Transport& transport,
                                std::vector<std::shared_ptr<Device>> devices, WorkerOptions options,
                                const std::string& rights);

}  // namespace dhpvm::offload
