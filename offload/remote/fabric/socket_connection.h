// SPDX-License-Identifier: Apache-2.0
// A connection over one TCP socket.
//
// On the wire, each message follows its length: four bytes, the lowest first. Strangers cannot make this side parse
// anything else before the channel above has authenticated them. A length beyond the memory that was provided for the
// message ends the connection before anything is stored.
#pragma once

#include <sys/uio.h>

#include <array>
#include <atomic>
#include <chrono>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "offload/remote/fabric/transport.h"

namespace dhpvm::offload {

class SocketConnection final : public Connection {
 public:
  static constexpr std::size_t kHeaderBytes = 4;
  static constexpr std::size_t kStagingBytes = 4096;

  // The header of a message of that length.
  static std::array<std::byte, kHeaderBytes> header_of(std::size_t length);

  // Requests of a connection to its transport, from any thread.
  class Owner {
   public:
    virtual ~Owner() = default;
    // The connection has a reason to be closed: call finish() on the progress thread.
    virtual void close_soon(SocketConnection& connection) = 0;
    // Call work() on the progress thread.
    virtual void run_soon(SocketConnection& connection) = 0;
    // The connection is removed; on the progress thread.
    virtual void forget(SocketConnection& connection) = 0;
  };

  // `socket` is non-blocking. The connection waits for established() before it sends.
  SocketConnection(Owner& owner, Descriptor socket, std::string peer, bool is_local)
      : owner_(owner), socket_(std::move(socket)), peer_(std::move(peer)), is_local_(is_local) {}

  // Call it before the first event. `bytes`, at most kStagingBytes, were received before.
  void set_handler(std::shared_ptr<ConnectionHandler> handler) { handler_ = std::move(handler); }
  void set_unread(ConstBytes bytes);
  int descriptor() const { return socket_.get(); }

  void send(std::span<const ConstBytes> parts, std::uint64_t tag) override;
  void send_copy(ConstBytes message) override;
  void receive(std::span<const MutableBytes> parts, std::uint64_t tag) override;
  void close(Error reason) override;
  std::string peer() const override { return peer_; }
  bool is_local() const override { return is_local_; }
  bool is_acknowledged(std::chrono::milliseconds within) const override;
  std::optional<std::uint64_t> bytes_received() const override { return bytes_received_; }
  bool owes_acknowledgement(std::chrono::milliseconds since) const override;
  std::optional<DetachedConnection> detach() override;

  // Everything below on the progress thread.
  void established();
  // Handles events of epoll for the socket.
  void on_events(std::uint32_t events);
  // Reports sent messages to the handler, and receives messages.
  void work();
  void finish();
  void tell_closed();

 private:
  // A message to be sent, with its header in front.
  struct Outgoing {
    std::array<std::byte, kHeaderBytes> header{};
    std::array<iovec, 1 + kMaxParts> parts{};
    std::size_t first = 0;  // the first of the parts that has bytes left
    std::size_t count = 0;
    std::optional<std::uint64_t> tag;  // set: call on_sent with it
    std::vector<std::byte> copy;
  };
  // Memory for a message.
  struct Incoming {
    std::array<iovec, kMaxParts> parts{};
    std::size_t count = 0;
    std::uint64_t tag = 0;
  };
  enum class Step : std::uint8_t { kDone, kWaits };

  void flush();
  void run_soon();
  void fail(Error reason);
  bool begin_message();
  Step receive_step();
  Step read_socket();
  void take_staged();
  void finish_message();
  std::size_t staged() const { return staged_end_ - staged_begin_; }

  Owner& owner_;
  Descriptor socket_;
  const std::string peer_;
  const bool is_local_;

  // Only for the progress thread.
  std::shared_ptr<ConnectionHandler> handler_;
  bool is_readable_ = false;  // the socket may have bytes
  bool is_ending_ = false;    // the other side sends no more
  std::uint64_t bytes_received_ = 0;
  // Bytes that were received with a message and belong to later ones.
  std::array<std::byte, kStagingBytes> staging_;
  std::size_t staged_begin_ = 0;
  std::size_t staged_end_ = 0;
  // The message being received: the part of its memory that is still empty.
  struct Message {
    std::array<iovec, kMaxParts> rest{};
    std::size_t count = 0;
    std::size_t first = 0;
    std::size_t missing = 0;
    std::size_t bytes = 0;
    std::uint64_t tag = 0;
  };
  std::optional<Message> message_;

  std::atomic<bool> is_closing_ = false;    // reason_ is set
  std::atomic<bool> is_scheduled_ = false;  // a call of work() is scheduled
  std::mutex mutex_;
  bool is_connected_ = false;
  bool is_starved_ = false;            // a message waits for a receive
  std::optional<Error> send_failure_;  // the other side's last messages may still have to be read
  std::optional<Error> reason_;        // set: the connection is closing or closed
  std::deque<Outgoing> outgoing_;
  std::vector<std::uint64_t> sent_;  // tags, for on_sent
  std::deque<Incoming> receives_;
};

}  // namespace dhpvm::offload
