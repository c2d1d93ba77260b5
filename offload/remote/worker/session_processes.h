// SPDX-License-Identifier: Apache-2.0
// A process for each session, as databases and sshd have it: a crash, an endless kernel or exhausted memory ends that
// session alone, and its memory and rights are its own.
//
// A process is started ahead of the session that it will serve, with its libraries ready, and no device open: a client
// does not wait for the first, and a process that waits costs little. It gets the client's sockets with the keys of
// their seals, and talks to the client itself; the worker only watches it (session_control.h).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "offload/remote/fabric/transport.h"
#include "offload/remote/worker/session_runner.h"

namespace dhpvm::offload {

struct SessionProcessesOptions {
  // The program and its arguments; it serves a session at these descriptors (session_process.h).
  std::vector<std::string> command;
  // Each client has a folder beneath it for what is compiled for it; empty: nothing is kept.
  std::string caches;
  std::uint64_t code_bytes = 0;  // of compiled code that each client may have there; 0: none is kept
  std::uint64_t memory_bytes = ~std::uint64_t{0};  // that each session may have at most
  WorkerLog log;                                   // called on any thread
};

// The transport must outlive the result, and its connections must be able to leave it. The error is that of a first
// process, which opens the devices to show that it can.
Result<std::unique_ptr<SessionRunner>> start_session_processes(Transport& transport,
                                                               SessionProcessesOptions options);

inline constexpr int kSessionSocket = 3;
inline constexpr int kSessionFigures = 4;
inline constexpr int kSessionCode = 5;

}  // namespace dhpvm::offload
