// SPDX-License-Identifier: Apache-2.0
// Prints the answer to `dhpvm-run --worker-status`.
#pragma once

#include <string>

#include "dhpvm/worker_status.h"

namespace dhpvm::tools {

// For people: the worker, its devices, the sessions that are served, and those that wait, in the order of the queue.
std::string status_table(const WorkerStatus& status);
// For programs: one object, with times in seconds.
std::string status_json(const WorkerStatus& status);

}  // namespace dhpvm::tools
