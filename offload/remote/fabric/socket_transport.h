// SPDX-License-Identifier: Apache-2.0
// The transport over TCP sockets. It needs no library, and parses only the lengths of messages, so that it may be
// exposed to strangers.
#pragma once

#include <memory>
#include <mutex>
#include <unordered_map>

#include "base/descriptor.h"
#include "offload/remote/fabric/progress.h"
#include "offload/remote/fabric/socket_connection.h"
#include "offload/remote/fabric/transport.h"

namespace dhpvm::offload {

class SocketTransport final : public Transport, private EventSource, private SocketConnection::Owner {
 public:
  static Result<std::unique_ptr<Transport>> create();
  ~SocketTransport() override;

  Result<std::shared_ptr<Connection>> connect(const Address& address,
                                              std::shared_ptr<ConnectionHandler> handler) override;
  Result<std::unique_ptr<Listener>> listen(const Address& address, AcceptFunction accept) override;
  Result<std::shared_ptr<Connection>> adopt(DetachedConnection connection,
                                            const std::shared_ptr<ConnectionHandler>& handler) override;
  void post(std::function<void()> function) override { progress_.post(std::move(function)); }
  void post_at(Clock::time_point when, std::function<void()> function) override {
    progress_.post_at(when, std::move(function));
  }
  void attend(const std::function<bool()>& is_done, Clock::time_point deadline) override {
    progress_.attend(is_done, deadline);
  }
  void expect(std::int64_t answers) override { progress_.expect(answers); }

 private:
  class ListenerOf;
  // A listening socket. The kernel's events carry the address of such an object, or of a connection.
  struct Listening {
    Descriptor socket;
    AcceptFunction accept;
  };

  SocketTransport() : progress_(*this) {}
  Status start();
  Status watch(int descriptor, std::uint32_t events, void* target) const;
  std::shared_ptr<SocketConnection> make_connection(Descriptor socket, const Address& peer);
  Status add(const std::shared_ptr<SocketConnection>& connection);

  // EventSource, on the progress thread.
  bool poll() override;
  void wait(std::chrono::milliseconds timeout) override;
  void wake() override;
  void accept_all(const Listening& listening);
  void accept_one(const Listening& listening, Descriptor socket, const Address& peer);
  void refuse_one(const Listening& listening);
  void finish(SocketConnection& connection);
  std::shared_ptr<SocketConnection> take_out(SocketConnection& connection);
  std::shared_ptr<SocketConnection> find(SocketConnection& connection);

  // SocketConnection::Owner.
  void close_soon(SocketConnection& connection) override;
  void run_soon(SocketConnection& connection) override;
  void forget(SocketConnection& connection) override;

  Descriptor epoll_;
  Descriptor wake_;
  // Closed for a moment when the process has no descriptor left, so that a connection can be accepted and closed.
  Descriptor reserve_;

  std::mutex mutex_;
  std::unordered_map<SocketConnection*, std::shared_ptr<SocketConnection>> connections_;
  // For the progress thread alone.
  std::unordered_map<void*, Listening*> listening_;

  ProgressThread progress_;
};

}  // namespace dhpvm::offload
