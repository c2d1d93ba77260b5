// SPDX-License-Identifier: Apache-2.0
// Sends one question of an operator to a worker, and receives the answer.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "offload/remote/fabric/channel.h"
#include "offload/remote/fabric/operator_protocol.h"
#include "offload/remote/fabric/transport.h"

namespace dhpvm::offload {

// Dials the worker at a numeric address, whose name is `host`, and waits for the whole answer: its records up to
// FactsEnd or SessionEnding. `options`: the identity that asks; its role does not matter. kDeviceLost when there is no
// answer by `patience`, or the error with which the worker refuses. Must not be called on the transport's own thread.
Result<std::vector<wire::ToOperator>> ask_worker(Transport& transport, const Address& address,
                                                 const std::string& host, ChannelOptions options,
                                                 const wire::FromOperator& question,
                                                 std::chrono::milliseconds patience);

}  // namespace dhpvm::offload
