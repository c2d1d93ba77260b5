// SPDX-License-Identifier: Apache-2.0
// A snapshot of a worker's present state and past work, for operators and metrics.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "dhpvm/worker_log.h"
#include "offload/remote/fabric/operator_protocol.h"

namespace dhpvm::offload {

struct WorkerReport {
  wire::WorkerFacts facts;
  std::vector<wire::Device> devices;
  std::vector<wire::SessionFacts> sessions;  // served or waiting, by their numbers
  // Since the worker began.
  std::uint64_t sessions_begun = 0;
  std::uint64_t refused = 0;                             // connections that got no session
  std::array<std::uint64_t, kEndCauses.size()> ended{};  // ended sessions, by cause
  SessionEnd::Work work;                                 // of ended sessions
};

}  // namespace dhpvm::offload
