// SPDX-License-Identifier: Apache-2.0
// Where the sessions of a worker run: in its own process (local_sessions.h), or in a process each
// (session_processes.h). Everything here is called on the progress thread of the worker's transport.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dhpvm/result.h"
#include "dhpvm/worker_log.h"
#include "offload/devices/device.h"
#include "offload/remote/fabric/bulk_lane.h"
#include "offload/remote/fabric/channel.h"
#include "offload/remote/fabric/protocol.h"
#include "offload/remote/worker/clients_file.h"
#include "offload/remote/worker/session_figures.h"

namespace dhpvm::offload {

// A session's share of the worker.
struct SessionPlace {
  std::uint64_t number = 0;                        // in the queue of those that wait; 0: it is served
  std::uint64_t memory_bytes = ~std::uint64_t{0};  // when it is served
  std::chrono::milliseconds time{0};               // likewise; 0: as long as the worker's limits allow
};

// The reason why a session has ended, as reported by itself, or by the code that finds it dead.
struct ClientGone {
  EndCause cause = EndCause::kLost;
  Error reason;  // as the client is told it
  std::optional<SessionEnd::Work> work;
};

// A session that is about to begin.
struct SessionStart {
  std::uint64_t number = 0;  // for the log
  wire::Token token{};
  std::string client_name = {};  // as Channel has them
  std::string key_name = {};
  std::string peer = {};  // its address
  std::uint64_t priority = ClientEntry::kUsualPriority;
  SealMode seal = SealMode::kNone;  // none without an identity
  std::chrono::steady_clock::time_point began = std::chrono::steady_clock::now();
  SessionPlace place = {};
  // Dials the client for its second connection, and hands that to the session; null when the client dials.
  std::function<void()> dial_bulk = {};
  // Called once, when everything that the session had is free. It may destroy the session's handle.
  std::function<void(const ClientGone& gone)> ended = {};
};

// A session, as its worker sees it.
class SessionHandle {
 public:
  virtual ~SessionHandle() = default;
  // The lane of the first connection; null when another process has taken it.
  virtual Result<std::shared_ptr<Lane>> take_frames(const std::shared_ptr<Channel>& channel) = 0;
  // The second connection, which the client has dialled, and whose first run was the token. The handler of its further
  // runs; null when another process has taken it. kProtocol when there is a second connection already.
  virtual Result<std::shared_ptr<BulkHandler>> take_bulk(const std::shared_ptr<BulkLane>& lane) = 0;
  // The second connection, which has been dialled here. As take_frames().
  virtual Result<std::shared_ptr<Lane>> take_dialled_bulk(const std::shared_ptr<Channel>& channel) = 0;
  // It moves up in the queue, or is served from now on.
  virtual void move_to(const SessionPlace& place) = 0;
  // Asks the client to leave.
  virtual void announce_end() = 0;
  // The client is told the reason; `ended` follows.
  virtual void close(EndCause cause, const Error& reason) = 0;
  // Figures of what it has done so far. From any thread.
  virtual const SessionFigures& figures() const = 0;
};

class SessionRunner {
 public:
  virtual ~SessionRunner() = default;
  virtual Result<std::shared_ptr<SessionHandle>> begin(SessionStart start) = 0;
  // The devices that it lends. From any thread.
  virtual const std::vector<wire::Device>& devices() const = 0;
};

// As the wire has it.
wire::Device facts_of(const DeviceInfo& info);

}  // namespace dhpvm::offload
