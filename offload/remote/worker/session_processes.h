// SPDX-License-Identifier: Apache-2.0
// A process for each session, as in databases and sshd: a crash, an endless kernel or exhausted memory ends only that
// session, and its memory and rights are its own.
//
// A process is started before the session that it will serve, with its libraries loaded and no device open: a client
// does not wait for the libraries, and a waiting process costs little. It gets the client's sockets with the keys of
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
  // The program and its arguments, which serves a session at these descriptors (session_process.h).
  std::vector<std::string> command;
  // The folder with a subfolder of compiled code for each client; empty: no code is kept.
  std::string caches;
  std::uint64_t code_bytes = 0;  // the most compiled code that each client may have there; 0: none is kept
  std::uint64_t memory_bytes = ~std::uint64_t{0};  // the most that each session may have
  WorkerLog log;                                   // called on any thread
};

// The transport must outlive the result, and support Connection::detach. The error is that of a first process, which
// opens the devices as a test.
Result<std::unique_ptr<SessionRunner>> start_session_processes(Transport& transport,
                                                               SessionProcessesOptions options);

inline constexpr int kSessionSocket = 3;
inline constexpr int kSessionFigures = 4;
inline constexpr int kSessionCode = 5;

}  // namespace dhpvm::offload
