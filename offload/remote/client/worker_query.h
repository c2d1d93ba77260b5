// SPDX-License-Identifier: Apache-2.0
// One question of an operator to a worker, and the answer.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "offload/remote/fabric/channel.h"
#include "offload/remote/fabric/operator_protocol.h"
#include "offload/remote/fabric/transport.h"

namespace dhpvm::offload {

// Dials the worker at a numeric address, whose name is `host`, and waits for the whole answer: its records up to
// FactsEnd or SessionEnding. `options`: who asks; the role does not matter. kDeviceLost when there is no answer by
// `patience`, or what the worker says why it gives none. Not from the transport's own thread.
Result<std::vector<wire::ToOperator>> ask_worker(Transport& transport, const Address& address,
                                                 const std::string& host, ChannelOptions options,
                                                 const wire::FromOperator& question,
                                                 std::chrono::milliseconds patience);

}  // namespace dhpvm::offload
