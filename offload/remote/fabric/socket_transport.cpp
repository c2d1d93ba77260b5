// SPDX-License-Identifier: Apache-2.0
#include "offload/remote/fabric/socket_transport.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "offload/remote/fabric/socket_address.h"

namespace dhpvm::offload {
namespace {

// The most connections that are accepted before other connections have their turn.
constexpr unsigned kTurn = 64;

Error no_descriptor(const char* what) {
  return error(ErrorCode::kIo, "cannot create {}: {}", what, std::strerror(errno));
}

// Disables Nagle's algorithm: the layers above collect messages, because they know what belongs together.
void send_at_once(int socket) {
  const int on = 1;
  static_cast<void>(setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)));
}

}  // namespace

class SocketTransport::ListenerOf final : public Listener {
 public:
  ListenerOf(SocketTransport& transport, std::unique_ptr<Listening> listening, Address address)
      : transport_(transport), listening_(std::move(listening)), address_(std::move(address)) {}
  ~ListenerOf() override {
    transport_.progress_.run_and_wait([this] {
      transport_.listening_.erase(listening_.get());
      listening_ = nullptr;
    });
  }
  Address address() const override { return address_; }

 private:
  SocketTransport& transport_;
  std::unique_ptr<Listening> listening_;
  const Address address_;
};

Result<std::unique_ptr<Transport>> SocketTransport::create() {
  std::unique_ptr<SocketTransport> made(new SocketTransport());
  DHPVM_TRY(made->start());
  return std::unique_ptr<Transport>(std::move(made));
}

Status SocketTransport::start() {
  epoll_ = Descriptor(epoll_create1(EPOLL_CLOEXEC));
  wake_ = Descriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  reserve_ = Descriptor(open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!epoll_.is_open() || !wake_.is_open()) return no_descriptor("a descriptor to wait with");
  DHPVM_TRY(watch(wake_.get(), EPOLLIN, nullptr));
  return progress_.start();
}

SocketTransport::~SocketTransport() {
  progress_.stop([this] {
    for (;;) {
      std::shared_ptr<SocketConnection> connection;
      {
        const std::lock_guard lock(mutex_);
        if (connections_.empty()) break;
        connection = connections_.begin()->second;
      }
      connection->close(Error(ErrorCode::kDeviceLost, "the connection was closed"));
      finish(*connection);
    }
  });
}

Status SocketTransport::watch(int descriptor, std::uint32_t events, void* target) const {
  epoll_event event{};
  event.events = events;
  event.data.ptr = target;
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &event) != 0) {
    return error(ErrorCode::kIo, "cannot wait for a descriptor: {}", std::strerror(errno));
  }
  return {};
}

std::shared_ptr<SocketConnection> SocketTransport::make_connection(Descriptor socket, const Address& peer) {
  send_at_once(socket.get());
  SocketConnection::Owner& owner = *this;
  return std::make_shared<SocketConnection>(owner, std::move(socket), peer.to_string(), is_loopback(peer));
}

// From now on the connection gets events. It must have its handler.
Status SocketTransport::add(const std::shared_ptr<SocketConnection>& connection) {
  {
    const std::lock_guard lock(mutex_);
    connections_.emplace(connection.get(), connection);
  }
  return watch(connection->descriptor(), EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, connection.get());
}

Result<std::shared_ptr<Connection>> SocketTransport::connect(const Address& address,
                                                             std::shared_ptr<ConnectionHandler> handler) {
  DHPVM_ASSIGN(SocketAddress peer, socket_address(address));
  Descriptor socket(::socket(peer.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket.is_open()) return no_descriptor("a socket");
  std::shared_ptr<SocketConnection> connection = make_connection(std::move(socket), address);
  connection->set_handler(std::move(handler));
  const int code = ::connect(connection->descriptor(), peer.get(), peer.size) == 0 ? 0 : errno;
  DHPVM_TRY(add(connection));
  if (code != 0 && code != EINPROGRESS) {
    connection->close(error(ErrorCode::kDeviceLost, "could not connect to {}: {}", address.to_string(),
                            std::strerror(code)));
  }
  return std::shared_ptr<Connection>(std::move(connection));
}

Result<std::shared_ptr<Connection>> SocketTransport::adopt(
    DetachedConnection detached, const std::shared_ptr<ConnectionHandler>& handler) {
  if (detached.unread.size() > SocketConnection::kStagingBytes) {
    return error(ErrorCode::kInvalidArgument, "a connection with {} unread bytes", detached.unread.size());
  }
  SocketConnection::Owner& owner = *this;
  auto connection = std::make_shared<SocketConnection>(owner, std::move(detached.socket),
                                                       std::move(detached.peer), detached.is_local);
  connection->set_handler(handler);
  connection->set_unread(detached.unread);
  // It is writable: the first event calls established().
  DHPVM_TRY(add(connection));
  return std::shared_ptr<Connection>(std::move(connection));
}

Result<std::unique_ptr<Listener>> SocketTransport::listen(const Address& address, AcceptFunction accept) {
  Address chosen = address;
  auto listening = std::make_unique<Listening>();
  listening->accept = std::move(accept);
  DHPVM_ASSIGN(listening->socket, listen_at(chosen));
  Status status;
  progress_.run_and_wait([&] {
    listening_.emplace(listening.get(), listening.get());
    status = watch(listening->socket.get(), EPOLLIN, listening.get());
  });
  auto made = std::make_unique<ListenerOf>(*this, std::move(listening), std::move(chosen));
  DHPVM_TRY(status);
  return std::unique_ptr<Listener>(std::move(made));
}

// ---- The progress thread --------------------------------------------------------------------------------------------

bool SocketTransport::poll() {
  std::array<epoll_event, 64> events;
  const int count = epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), 0);
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events[static_cast<std::size_t>(i)];
    void* const target = event.data.ptr;  // a copy: the kernel's structure is packed
    if (target == nullptr) {
      eventfd_t value;
      static_cast<void>(eventfd_read(wake_.get(), &value));
    } else if (const auto found = listening_.find(target); found != listening_.end()) {
      accept_all(*found->second);
    } else if (const auto connection = find(*static_cast<SocketConnection*>(target))) {
      connection->on_events(event.events);
    }
  }
  return count > 0;
}

void SocketTransport::wait(std::chrono::milliseconds timeout) {
  // Not epoll_wait, which would consume the events.
  pollfd ready{epoll_.get(), POLLIN, 0};
  static_cast<void>(::poll(&ready, 1, static_cast<int>(timeout.count())));
}

void SocketTransport::wake() { static_cast<void>(eventfd_write(wake_.get(), 1)); }

void SocketTransport::accept_all(const Listening& listening) {
  for (unsigned i = 0; i < kTurn; ++i) {
    SocketAddress peer;
    Descriptor socket(accept4(listening.socket.get(), peer.get(), &peer.size, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (socket.is_open()) {
      accept_one(listening, std::move(socket), address_of(peer.get(), peer.size));
    } else if (errno == EMFILE || errno == ENFILE) {
      return refuse_one(listening);
    } else if (errno != EINTR && errno != ECONNABORTED) {
      return;
    }
  }
}

void SocketTransport::accept_one(const Listening& listening, Descriptor socket, const Address& peer) {
  const std::shared_ptr<SocketConnection> connection = make_connection(std::move(socket), peer);
  std::shared_ptr<ConnectionHandler> handler = listening.accept(connection);
  if (handler == nullptr) return;  // the socket closes with the connection
  connection->set_handler(std::move(handler));
  if (Status status = add(connection); !status.ok()) return connection->close(std::move(status).error());
  connection->established();
}

// If there is no descriptor for it, a connection would wait for ever, and wake this thread all the while: accept and
// close it.
void SocketTransport::refuse_one(const Listening& listening) {
  reserve_.close();
  Descriptor(accept4(listening.socket.get(), nullptr, nullptr, SOCK_CLOEXEC)).close();
  reserve_ = Descriptor(open("/dev/null", O_RDONLY | O_CLOEXEC));
}

std::shared_ptr<SocketConnection> SocketTransport::find(SocketConnection& connection) {
  const std::lock_guard lock(mutex_);
  const auto found = connections_.find(&connection);
  return found == connections_.end() ? nullptr : found->second;
}

void SocketTransport::close_soon(SocketConnection& connection) {
  post([this, held = &connection] { finish(*held); });
}

void SocketTransport::run_soon(SocketConnection& connection) {
  post([this, held = &connection] {
    if (const auto found = find(*held)) found->work();
  });
}

// Afterwards the connection gets no events.
std::shared_ptr<SocketConnection> SocketTransport::take_out(SocketConnection& connection) {
  std::shared_ptr<SocketConnection> held;
  {
    const std::lock_guard lock(mutex_);
    const auto found = connections_.find(&connection);
    if (found == connections_.end()) return nullptr;
    held = std::move(found->second);
    connections_.erase(found);
  }
  static_cast<void>(epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, held->descriptor(), nullptr));
  return held;
}

void SocketTransport::finish(SocketConnection& connection) {
  const std::shared_ptr<SocketConnection> held = take_out(connection);
  if (held == nullptr) return;
  held->finish();
  held->tell_closed();
}

// Its owners still hold the connection.
void SocketTransport::forget(SocketConnection& connection) { static_cast<void>(take_out(connection)); }

}  // namespace dhpvm::offload
