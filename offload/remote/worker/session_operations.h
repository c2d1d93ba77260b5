// SPDX-License-Identifier: Apache-2.0
// Checks every name, limit and order in a client's operations before they reach a queue.
//
// A client that breaks the protocol is disconnected; a wrong operation makes its queue fail, as it would on a local
// device.
#pragma once

#include <cstdint>
#include <memory>

#include "offload/remote/worker/session_code.h"
#include "offload/remote/worker/session_objects.h"
#include "offload/remote/worker/session_port.h"
#include "offload/remote/worker/session_queues.h"
#include "offload/remote/worker/session_state.h"

namespace dhpvm::offload {

class SessionOperations {
 public:
  SessionOperations(SessionPort& port, SessionObjects& objects, SessionCode& code,
                    SessionTransfers& transfers, SessionQueues& queues)
      : port_(port), objects_(objects), code_(code), transfers_(transfers), queues_(queues) {}

  Status handle(wire::Upload& record);
  Status handle(wire::Download& record);
  Status handle(wire::Write& record);
  Status handle(wire::Copy& record);
  Status handle(wire::Fill& record);
  Status handle(wire::Launch& record);
  Status handle(wire::HostCall& record);

  // Both lanes are there: operations may arrive.
  void open() { is_open_ = true; }

 private:
  struct Arrival {
    std::shared_ptr<session::Stream> stream;
    std::shared_ptr<session::Pending> pending;
  };

  Result<Arrival> accept(const wire::Order& order);
  Result<session::LaunchState> read_launch(wire::Launch& record, const session::Stream& stream);
  void enqueue(Arrival arrival) { queues_.enqueue(arrival.stream, std::move(arrival.pending)); }

  SessionPort& port_;
  SessionObjects& objects_;
  SessionCode& code_;
  SessionTransfers& transfers_;
  SessionQueues& queues_;
  bool is_open_ = false;
};

}  // namespace dhpvm::offload
