// SPDX-License-Identifier: Apache-2.0
// Why and how a session has ended, for its host and for the log.
#pragma once

#include <optional>

#include "dhpvm/result.h"
#include "dhpvm/worker_log.h"
#include "offload/remote/worker/session_runner.h"

namespace dhpvm::offload {

// As the session itself knows it, or whoever finds it dead.
struct ClientGone {
  EndCause cause = EndCause::kLost;
  Error reason;  // as the client is told it
  std::optional<SessionEnd::Work> work;
};

// Writes the last line of a session.
void log_end(const WorkerLog& log, const SessionStart& start, const ClientGone& gone);

}  // namespace dhpvm::offload
