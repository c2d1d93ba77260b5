// SPDX-License-Identifier: Apache-2.0
// Reliable, ordered connections that carry messages, straight from and into memory that the caller gives.
//
// A transport has one thread, its progress thread. All handlers are called there, one at a time; they must not block.
// A thread that waits for the network may take its place for a while (Transport::attend). Everything else may be called
// from any thread, handlers included.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/descriptor.h"
#include "base/error.h"
#include "dhpvm/result.h"
#include "offload/remote/fabric/address.h"

namespace dhpvm::offload {

using ConstBytes = std::span<const std::byte>;
using MutableBytes = std::span<std::byte>;

// A message is sent from, and received into, at most this many pieces of memory.
inline constexpr std::size_t kMaxParts = 3;

// The events of a connection, for its owner.
class ConnectionHandler {
 public:
  virtual ~ConnectionHandler() = default;
  // Before anything else, unless the connection could not be made.
  virtual void on_connected() = 0;
  // The oldest receive has been filled with a message of `bytes`.
  virtual void on_received(std::uint64_t tag, std::size_t bytes) = 0;
  // The memory of the send may be used again. This does not tell that the other side has received anything.
  virtual void on_sent(std::uint64_t tag) = 0;
  // The last call, and exactly one: the other side is gone, could not be reached, or close() was called. Outstanding
  // sends and receives are dropped, and their memory is no longer accessed.
  virtual void on_closed(const Error& reason) = 0;
};

// A connection that has left its transport without being closed, on its way to another one.
struct DetachedConnection {
  Descriptor socket;
  std::string peer;
  bool is_local = false;
  std::vector<std::byte> unread;  // received, and not yet given to the handler
};

// Lives until it has been closed, however many references there are.
class Connection {
 public:
  virtual ~Connection() = default;

  // Sends one message that consists of `parts`; their memory must stay as it is until on_sent(tag). A message may be
  // sent before on_connected. After the connection has been closed, nothing happens.
  virtual void send(std::span<const ConstBytes> parts, std::uint64_t tag) = 0;
  // Sends a copy of a short message; on_sent is not called.
  virtual void send_copy(ConstBytes message) = 0;
  // Gives memory for one message. Messages fill the receives in the order in which these were given; a message longer
  // than its receive closes the connection. Without a receive, the other side waits (back-pressure).
  virtual void receive(std::span<const MutableBytes> parts, std::uint64_t tag) = 0;
  // on_closed follows with `reason`, unless the connection has been closed already.
  virtual void close(Error reason) = 0;
  // The address of the other end, for messages: "127.0.0.1:52110".
  virtual std::string peer() const = 0;
  // Whether both ends are on this machine.
  virtual bool is_local() const = 0;
  // Whether the other machine has answered within that time, whatever its process does. False where that is unknown. On
  // the progress thread.
  virtual bool is_acknowledged(std::chrono::milliseconds within) const {
    static_cast<void>(within);
    return false;
  }
  // The bytes received so far, those of a message that is not whole yet included. Nothing where that is unknown. On the
  // progress thread.
  virtual std::optional<std::uint64_t> bytes_received() const { return std::nullopt; }
  // Whether the other machine has yet to acknowledge what it was sent, and has acknowledged nothing for longer than
  // that. False where that is unknown. On the progress thread.
  virtual bool owes_acknowledgement(std::chrono::milliseconds since) const {
    static_cast<void>(since);
    return false;
  }
  // Takes the connection out of its transport; the handler hears nothing more, and receives that were not filled are
  // dropped. Nothing when connections of this transport cannot leave it, or in the middle of a message. On the progress
  // thread.
  virtual std::optional<DetachedConnection> detach() { return std::nullopt; }
};

// Handlers are kept until on_closed.
using AcceptFunction = std::function<std::shared_ptr<ConnectionHandler>(std::shared_ptr<Connection>)>;

// Stops listening when it is destroyed.
class Listener {
 public:
  virtual ~Listener() = default;
  // With the port that the system chose if 0 was given.
  virtual Address address() const = 0;
};

class Transport {
 public:
  using Clock = std::chrono::steady_clock;
  // Closes all connections. Not from the progress thread.
  virtual ~Transport() = default;

  // Begins to connect to a numeric address; the handler hears how it went.
  virtual Result<std::shared_ptr<Connection>> connect(const Address& address,
                                                      std::shared_ptr<ConnectionHandler> handler) = 0;
  // At a numeric address. `accept` is called for every connection; it returns null to refuse.
  virtual Result<std::unique_ptr<Listener>> listen(const Address& address, AcceptFunction accept) = 0;
  // Takes in a connection that has left another transport; on_connected follows. kUnsupported where none can.
  virtual Result<std::shared_ptr<Connection>> adopt(DetachedConnection connection,
                                                    const std::shared_ptr<ConnectionHandler>& handler) {
    static_cast<void>(connection);
    static_cast<void>(handler);
    return Error(ErrorCode::kUnsupported, "this transport takes no connections of others");
  }
  // Calls `function` on the progress thread, soon or not before `when`. Dropped when the transport is destroyed first.
  virtual void post(std::function<void()> function) = 0;
  virtual void post_at(Clock::time_point when, std::function<void()> function) = 0;

  // For a thread that waits for what events bring: it handles them here until `is_done`, as the progress thread, and no
  // other has to be woken. Returns before that at `deadline`, soon if another thread handles them, and in any case
  // after some milliseconds; the caller then waits as it would have without this. Not with a mutex that handlers take.
  virtual void attend(const std::function<bool()>& is_done, Clock::time_point deadline) {
    static_cast<void>(is_done);
    static_cast<void>(deadline);
  }
  // So many more answers of other machines are waited for, or fewer. While there are any, somebody handles events at
  // once; otherwise they may wait for a millisecond after attend().
  virtual void expect(std::int64_t answers) { static_cast<void>(answers); }
};

}  // namespace dhpvm::offload
