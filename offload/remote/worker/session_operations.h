// SPDX-License-Identifier: Apache-2.0
// Checks every name, limit and order in a client's operations before they reach a queue.
//
// A client that breaks the protocol is disconnected; a wrong operation makes its queue fail, as it would on a local
// device.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "offload/remote/worker/kept_batches.h"
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
  Status handle(wire::Batch& record);
  Status handle(wire::Replay& record);

  // Both lanes are connected: operations may arrive.
  void open() { is_open_ = true; }

 private:
  struct Arrival {
    std::shared_ptr<session::Stream> stream;
    std::shared_ptr<session::Pending> pending;
  };

  // Accepts so many operations, of which the first waits and the last signals.
  Result<Arrival> accept(const wire::Order& order, std::uint64_t count = 1);
  // These functions fill in the record's content in place: batches have many steps, and steps are expensive to move.
  Status read_launch(const wire::Work& record, const session::Stream& stream, session::LaunchState& launch);
  Status read_step(const wire::Step& step, const session::Stream& stream, session::Pending& pending);
  Status run(const wire::Order& order, const std::vector<wire::Step>& steps,
             std::optional<std::uint64_t> place);
  // How elements travel that come with a batch, or go back.
  enum class Elements : std::uint8_t { kShared, kStaged, kOneByOne };
  Elements elements_of(const session::Stream& stream, const std::vector<session::Pending>& steps,
                       bool has_place) const;
  session::BatchState as_one(const session::Stream& stream, std::vector<session::Pending> steps,
                             std::uint64_t number, Elements elements);
  void enqueue(Arrival arrival) { queues_.enqueue(arrival.stream, std::move(arrival.pending)); }

  SessionPort& port_;
  SessionObjects& objects_;
  SessionCode& code_;
  SessionTransfers& transfers_;
  SessionQueues& queues_;
  KeptBatches kept_;
  bool is_open_ = false;
};

}  // namespace dhpvm::offload
