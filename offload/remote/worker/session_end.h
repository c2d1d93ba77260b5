// SPDX-License-Identifier: Apache-2.0
// The end of a session, for the log.
#pragma once

#include <string_view>

#include "dhpvm/worker_log.h"
#include "offload/remote/worker/session_runner.h"

namespace dhpvm::offload {

// The name of a seal, for people.
std::string_view name_of(SealMode mode);
// Writes the last line of a session.
void log_end(const WorkerLog& log, const SessionStart& start, const ClientGone& gone);

}  // namespace dhpvm::offload
