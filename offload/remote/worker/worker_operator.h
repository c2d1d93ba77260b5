// SPDX-License-Identifier: Apache-2.0
// The worker's end of an operator's lane: reports the worker's state, and ends sessions. The operator is authenticated,
// but nothing else of what it sends is trusted.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "offload/remote/fabric/channel.h"
#include "offload/remote/worker/worker_report.h"

namespace dhpvm::offload {

// Called on the progress thread. Errors are for the operator.
struct OperatorActions {
  std::function<Result<WorkerReport>()> report;
  std::function<Status(std::uint64_t number, const std::string& reason)> end_session;
};

// The lane ends after half a minute, or after 64 requests.
std::shared_ptr<Lane> make_operator_lane(const std::shared_ptr<Channel>& channel, OperatorActions actions);

}  // namespace dhpvm::offload
