// SPDX-License-Identifier: Apache-2.0
// The messages between a worker and the process of a session, over a pair of local sockets that preserve message
// boundaries.
// || The process trusts the worker. The worker trusts nothing from the process, because a client's code may control it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "base/descriptor.h"
#include "dhpvm/result.h"
#include "dhpvm/worker_log.h"
#include "offload/remote/fabric/channel.h"
#include "offload/remote/fabric/protocol.h"
#include "offload/remote/worker/session_runner.h"

namespace dhpvm::offload::control {

// ---- To the process -------------------------------------------------------------------------------------------------

// The session begins, with its first connection.
struct Begin {
  std::uint64_t number = 0;
  wire::Token token{};
  SessionPlace place;
  bool dials_client = false;  // the worker dials the client for the second connection, too
  std::string caches;         // the folder for what it compiles; empty: none
  DetachedChannel frames;
};
// Its second connection.
struct TakeBulk {
  DetachedChannel bulk;
};
// See SessionHandle::move_to().
struct Move {
  SessionPlace place;
};
struct AnnounceEnd {};
struct Close {
  EndCause cause = EndCause::kLost;
  std::uint64_t code = 0;
  std::string message;
};
// Instead of a session: the process reports which devices it could lend, and ends.
struct Probe {
  std::string caches;
};
// A device that the worker lends; sent before the session begins.
struct Offer {
  wire::Device device;
};
using ToSession = std::variant<Begin, TakeBulk, Move, AnnounceEnd, Close, Probe, Offer>;

// ---- From the process -----------------------------------------------------------------------------------------------

// The process is ready for a session.
struct Serving {
  std::string rights;  // the rights that the system could not take away
};
// The process is not able to serve, and ends.
struct Unable {
  std::uint64_t code = 0;
  std::string message;
};
struct LogLine {
  LogLevel level = LogLevel::kInfo;
  std::string text;
};
// Asks for the second connection.
struct DialBulk {};
// The client is gone; the process ends.
struct Ended {
  EndCause cause = EndCause::kLost;
  std::string reason;
  SessionEnd::Work work;
};
// A device, in answer to Probe.
struct Lends {
  wire::Device device;
};
using FromSession = std::variant<Serving, Unable, LogLine, DialBulk, Ended, Lends>;

// ---- The socket -----------------------------------------------------------------------------------------------------

// The longest text in a message; longer ones are cut.
inline constexpr std::size_t kLongestText = 1024;

enum class Patience : std::uint8_t { kNone, kForever };

// One end of the pair. Thread-safe.
class Socket {
 public:
  explicit Socket(Descriptor descriptor) : descriptor_(std::move(descriptor)) {}
  static Result<std::pair<Socket, Socket>> create_pair();
  int descriptor() const { return descriptor_.get(); }

  // kIo when the other end is gone, or when it takes nothing and there is no patience.
  Status send(ToSession record, Patience patience) const;
  Status send(const FromSession& record, Patience patience) const;
  // Nothing when no message is there and there is no patience. kIo at the end of the connection, kProtocol for an
  // invalid message.
  Result<std::optional<ToSession>> receive_to_session(Patience patience) const;
  Result<std::optional<FromSession>> receive_from_session(Patience patience) const;

 private:
  Descriptor descriptor_;
};

}  // namespace dhpvm::offload::control
