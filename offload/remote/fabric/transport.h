// SPDX-License-Identifier: Apache-2.0
// Reliable, ordered connections that carry messages, directly from and to memory that the caller provides.
//
// A transport has one thread, its progress thread. All handlers are called there, one at a time; they must not block. A
// thread that waits for the network may take its place for a while (Transport::attend). Everything else may be called
// from any thread, and from handlers.
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
  // Called before all others, unless the connection could not be made.
  virtual void on_connected() = 0;
  // The oldest receive has been filled with a message of `bytes`.
  virtual void on_received(std::uint64_t tag, std::size_t bytes) = 0;
  // The memory of the send may be reused. This does not mean that the other side has received anything.
  virtual void on_sent(std::uint64_t tag) = 0;
  // Called last, and exactly once: the other side is gone, could not be reached, or close() was called. Outstanding
  // sends and receives are dropped, and their memory is not accessed any more.
  virtual void on_closed(const Error& reason) = 0;
};

// A connection that has left its transport without being closed, to be adopted by another one.
struct DetachedConnection {
  Descriptor socket;
  std::string peer;
  bool is_local = false;
  std::vector<std::byte> unread;  // received, but not passed to the handler yet
};

// Exists until it is closed, however many references there are.
class Connection {
 public:
  virtual ~Connection() = default;

  // Sends one message that consists of `parts`; their memory must stay as it is until on_sent(tag). A message may be
  // sent before on_connected. After the connection has been closed, nothing happens.
  virtual void send(std::span<const ConstBytes> parts, std::uint64_t tag) = 0;
  // Sends a copy of a short message; on_sent is not called.
  virtual void send_copy(ConstBytes message) = 0;
  // Provides memory for one message. Messages fill the receives in order; a message longer than its receive closes the
  // connection. Without a receive, the other side waits (back-pressure).
  virtual void receive(std::span<const MutableBytes> parts, std::uint64_t tag) = 0;
  // on_closed follows with `reason`, unless the connection was closed already.
  virtual void close(Error reason) = 0;
  // The address of the other end, for messages: "127.0.0.1:52110".
  virtual std::string peer() const = 0;
  // Whether both ends are on this machine.
  virtual bool is_local() const = 0;
  // Whether the other machine has answered within that time, whatever its process does. False if that is unknown. On
  // the progress thread.
  virtual bool is_acknowledged(std::chrono::milliseconds within) const {
    static_cast<void>(within);
    return false;
  }
  // The bytes received so far, including those of an incomplete message. Nothing if that is unknown. On the progress
  // thread.
  virtual std::optional<std::uint64_t> bytes_received() const { return std::nullopt; }
  // Whether the other machine still has to acknowledge what it was sent, and has acknowledged nothing for longer than
  // that. False if that is unknown. On the progress thread.
  virtual bool owes_acknowledgement(std::chrono::milliseconds since) const {
    static_cast<void>(since);
    return false;
  }
  // Takes the connection out of its transport. The handler gets no more calls, and unfilled receives are dropped.
  // Nothing when connections of this transport cannot leave it, or in the middle of a message. On the progress thread.
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

  // Begins to connect to a numeric address; the handler gets the outcome.
  virtual Result<std::shared_ptr<Connection>> connect(const Address& address,
                                                      std::shared_ptr<ConnectionHandler> handler) = 0;
  // Listens at a numeric address. `accept` is called for every connection; it returns null to refuse one.
  virtual Result<std::unique_ptr<Listener>> listen(const Address& address, AcceptFunction accept) = 0;
  // Adopts a connection that has left another transport; on_connected follows. kUnsupported if this transport cannot.
  virtual Result<std::shared_ptr<Connection>> adopt(DetachedConnection connection,
                                                    const std::shared_ptr<ConnectionHandler>& handler) {
    static_cast<void>(connection);
    static_cast<void>(handler);
    return Error(ErrorCode::kUnsupported, "this transport takes no connections of others");
  }
  // Calls `function` on the progress thread, at once or not before `when`. It is dropped if the transport is destroyed
  // first.
  virtual void post(std::function<void()> function) = 0;
  virtual void post_at(Clock::time_point when, std::function<void()> function) = 0;

  // For a thread that waits for the result of events: it handles events here, as the progress thread, until `is_done`,
  // so that no other thread has to be woken. Returns earlier at `deadline`, soon if another thread handles events, and
  // in any case after some milliseconds; the caller then waits in the ordinary way. Not with a mutex that handlers
  // take.
  virtual void attend(const std::function<bool()>& is_done, Clock::time_point deadline) {
    static_cast<void>(is_done);
    static_cast<void>(deadline);
  }
  // So many more answers of other machines are awaited, or fewer if negative. While there are any, events are handled
  // at once; otherwise they may wait for a millisecond after attend().
  virtual void expect(std::int64_t answers) { static_cast<void>(answers); }
};

}  // namespace dhpvm::offload
