// SPDX-License-Identifier: Apache-2.0
// Where the sessions of a worker run: in the worker's process (local_sessions.h), or each in its own
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
  std::uint64_t number = 0;                        // its place in the queue; 0: it is served
  std::uint64_t memory_bytes = ~std::uint64_t{0};  // while it is served
  std::chrono::milliseconds time{0};               // likewise; 0: as long as the worker's limits allow
};

// The reason why a session has ended, as reported by the session, or by the code that found it dead.
struct ClientGone {
  EndCause cause = EndCause::kLost;
  Error reason;  // as sent to the client
  std::optional<SessionEnd::Work> work;
};

// A session that is about to begin.
struct SessionStart {
  std::uint64_t number = 0;  // for the log
  wire::Token token{};
  std::string client_name = {};  // as in Channel
  std::string key_name = {};
  std::string peer = {};  // its address
  std::uint64_t priority = ClientEntry::kUsualPriority;
  SealMode seal = SealMode::kNone;  // none without an identity
  std::chrono::steady_clock::time_point began = std::chrono::steady_clock::now();
  SessionPlace place = {};
  // Dials the client for its second connection, and passes that to the session; null if the client dials.
  std::function<void()> dial_bulk = {};
  // Called once, when everything that the session had is freed. It may destroy the session's handle.
  std::function<void(const ClientGone& gone)> ended = {};
};

// A session, as seen by its worker.
class SessionHandle {
 public:
  virtual ~SessionHandle() = default;
  // The lane for the first connection; null if another process has taken the connection.
  virtual Result<std::shared_ptr<Lane>> take_frames(const std::shared_ptr<Channel>& channel) = 0;
  // Takes the second connection, which the client has dialled, and whose first run was the token. Returns the handler
  // of its further runs; null if another process has taken the connection. kProtocol if there is a second connection
  // already.
  virtual Result<std::shared_ptr<BulkHandler>> take_bulk(const std::shared_ptr<BulkLane>& lane) = 0;
  // The same for a second connection that was dialled here; like take_frames().
  virtual Result<std::shared_ptr<Lane>> take_dialled_bulk(const std::shared_ptr<Channel>& channel) = 0;
  // The session moves up in the queue, or is served from now on.
  virtual void move_to(const SessionPlace& place) = 0;
  // Asks the client to leave.
  virtual void announce_end() = 0;
  // Ends the session with the reason that the client gets; `ended` follows.
  virtual void close(EndCause cause, const Error& reason) = 0;
  // The figures of its work so far. From any thread.
  virtual const SessionFigures& figures() const = 0;
};

class SessionRunner {
 public:
  virtual ~SessionRunner() = default;
  virtual Result<std::shared_ptr<SessionHandle>> begin(SessionStart start) = 0;
  // The devices that the worker lends. From any thread.
  virtual const std::vector<wire::Device>& devices() const = 0;
};

// In the form of the wire.
wire::Device facts_of(const DeviceInfo& info);

}  // namespace dhpvm::offload
