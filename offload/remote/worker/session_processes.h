// SPDX-License-Identifier: Apache-2.0
// A process for each session, as databases and sshd have it: a crash, an endless kernel or exhausted memory ends that
// session alone, and its memory and rights are its own.
//
// A process is started ahead of the session that it will serve, with devices and libraries ready: a client does not
// wait for them. It gets the client's sockets with the keys of their seals, and talks to the client itself; the worker
// only watches it (session_control.h).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "offload/remote/fabric/transport.h"
#include "offload/remote/worker/session_runner.h"

namespace dhpvm::offload {

// `command`: the program and its arguments; it serves a session at descriptor kSessionSocket (session_process.h).
// The transport must outlive the result, and its connections must be able to leave it. The error is that of the first
// process, if it cannot serve. `log` is called on any thread.
Result<std::unique_ptr<SessionRunner>> start_session_processes(Transport& transport,
                                                               std::vector<std::string> command,
                                                               WorkerLog log);

inline constexpr int kSessionSocket = 3;

}  // namespace dhpvm::offload
