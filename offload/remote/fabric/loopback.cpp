// SPDX-License-Identifier: Apache-2.0
#include "offload/remote/fabric/loopback.h"

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/error.h"
#include "offload/remote/fabric/progress.h"

namespace dhpvm::offload {
namespace {

using Clock = Transport::Clock;

class LoopbackTransport;

struct Message {
  std::vector<std::byte> bytes;
  Clock::time_point due;
  std::optional<std::uint64_t> tag;  // of the send; empty if on_sent is not called
};

struct Receive {
  std::vector<MutableBytes> parts;
  std::uint64_t tag;
};

// One end. The link's mutex guards everything except the transport, which exists as long as the end is open.
struct End {
  LoopbackTransport* transport = nullptr;
  std::shared_ptr<ConnectionHandler> handler;
  unsigned number = 0;  // of the connection in the fault plan, and of the next message
  std::uint64_t next_message = 0;
  std::deque<Message> incoming;
  std::optional<Message> overtaken;  // overtaken by the next one
  std::deque<Receive> receives;
  std::uint64_t bytes_received = 0;
  std::optional<Error> closed;
  bool finished = false;     // on_closed is being called, or has been
  bool closed_here = false;  // closed by this side; otherwise what has arrived is still delivered
};

struct Link {
  std::mutex mutex;
  std::array<End, 2> ends;
};

class LoopbackConnection final : public Connection {
 public:
  LoopbackConnection(std::shared_ptr<Link> link, unsigned end, std::string peer)
      : link_(std::move(link)), end_(end), peer_(std::move(peer)) {}

  void send(std::span<const ConstBytes> parts, std::uint64_t tag) override { send_parts(parts, tag); }
  void send_copy(ConstBytes message) override { send_parts({&message, 1}, {}); }
  void receive(std::span<const MutableBytes> parts, std::uint64_t tag) override;
  void close(Error reason) override { close(link_, end_, std::move(reason)); }
  std::string peer() const override { return peer_; }
  bool is_local() const override { return true; }
  std::optional<std::uint64_t> bytes_received() const override {
    const std::lock_guard lock(link_->mutex);
    return link_->ends[end_].bytes_received;
  }

  static void close(const std::shared_ptr<Link>& link, unsigned end, Error reason);
  static void deliver(const std::shared_ptr<Link>& link, unsigned end);
  static void finish(const std::shared_ptr<Link>& link, unsigned end);

 private:
  // With the link's mutex held, and that end open.
  static void tell_sent(const std::shared_ptr<Link>& link, unsigned end, std::uint64_t tag);
  void send_parts(std::span<const ConstBytes> parts, std::optional<std::uint64_t> tag);

  const std::shared_ptr<Link> link_;
  const unsigned end_;
  const std::string peer_;
};

}  // namespace

struct LoopbackNetwork::State {
  struct Listening {
    LoopbackTransport* transport;
    std::shared_ptr<AcceptFunction> accept;
  };
  std::mutex mutex;
  std::map<std::uint16_t, Listening> listening;  // by port
  std::uint16_t next_port = 1;
};

namespace {

class LoopbackTransport final : public Transport, private EventSource {
 public:
  LoopbackTransport(LoopbackNetwork::State& network, FaultPlan plan)
      : network_(network), plan_(std::move(plan)), progress_(*this) {
    // Simulated networks are for tests only, so a missing thread is a failure of the test.
    if (!progress_.start().ok()) std::abort();
  }
  ~LoopbackTransport() override {
    {
      const std::lock_guard lock(network_.mutex);
      std::erase_if(network_.listening, [this](const auto& entry) { return entry.second.transport == this; });
    }
    progress_.stop([this] {
      for (auto& [link, end] : links()) {
        LoopbackConnection::close(link, end, Error(ErrorCode::kDeviceLost, "the connection was closed"));
        LoopbackConnection::finish(link, end);
      }
    });
  }

  Result<std::shared_ptr<Connection>> connect(const Address& address,
                                              std::shared_ptr<ConnectionHandler> handler) override {
    auto link = std::make_shared<Link>();
    add(link, 0, handler);
    auto connection = std::make_shared<LoopbackConnection>(link, 0, address.to_string());
    const std::lock_guard lock(network_.mutex);
    const auto found = network_.listening.find(address.port);
    if (found == network_.listening.end()) {
      connection->close(error(ErrorCode::kDeviceLost, "nobody listens at {}", address.to_string()));
      return std::shared_ptr<Connection>(connection);
    }
    LoopbackTransport& other = *found->second.transport;
    other.post([this, &other, link, accept = found->second.accept] { other.accept(*this, link, *accept); });
    return std::shared_ptr<Connection>(connection);
  }

  Result<std::unique_ptr<Listener>> listen(const Address& address, AcceptFunction accept) override;

  void post(std::function<void()> function) override { progress_.post(std::move(function)); }
  void post_at(Clock::time_point when, std::function<void()> function) override {
    progress_.post_at(when, std::move(function));
  }
  void attend(const std::function<bool()>& is_done, Clock::time_point deadline) override {
    progress_.attend(is_done, deadline);
  }
  void expect(std::int64_t answers) override { progress_.expect(answers); }

  Fault fault(unsigned connection, std::uint64_t message, ConstBytes bytes) const {
    return plan_ ? plan_(connection, message, bytes) : Fault{};
  }
  void forget(const std::shared_ptr<Link>& link, unsigned end) {
    const std::lock_guard lock(mutex_);
    links_.erase({link, end});
  }

 private:
  using Ends = std::set<std::pair<std::shared_ptr<Link>, unsigned>>;

  void add(const std::shared_ptr<Link>& link, unsigned end, std::shared_ptr<ConnectionHandler> handler) {
    const std::lock_guard lock(mutex_);
    links_.insert({link, end});
    link->ends[end].number = next_connection_++;
    link->ends[end].transport = this;
    link->ends[end].handler = std::move(handler);
  }
  Ends links() {
    const std::lock_guard lock(mutex_);
    return links_;
  }
  // On this transport's thread.
  void accept(LoopbackTransport& dialler, const std::shared_ptr<Link>& link, const AcceptFunction& accept) {
    auto connection = std::make_shared<LoopbackConnection>(link, 1, "loopback");
    std::shared_ptr<ConnectionHandler> handler = accept(connection);
    const std::lock_guard lock(link->mutex);
    const bool gone = link->ends[0].closed.has_value();  // and perhaps its transport is gone, too
    if (handler == nullptr) {
      if (gone) return;
      link->ends[0].closed = Error(ErrorCode::kDeviceLost, "the other side refused the connection");
      dialler.post([link] { LoopbackConnection::finish(link, 0); });
      return;
    }
    add(link, 1, handler);
    post([handler] { handler->on_connected(); });
    if (gone) {
      post([link] { LoopbackConnection::finish(link, 1); });
      return;
    }
    dialler.post([link] {
      std::shared_ptr<ConnectionHandler> to;
      {
        const std::lock_guard inner(link->mutex);
        if (!link->ends[0].closed) to = link->ends[0].handler;
      }
      if (to != nullptr) to->on_connected();
      LoopbackConnection::deliver(link, 0);
    });
    post([link] { LoopbackConnection::deliver(link, 1); });
  }

  bool poll() override { return false; }
  void wait(std::chrono::milliseconds timeout) override {
    std::unique_lock lock(mutex_);
    wake_.wait_for(lock, timeout, [this] { return woken_; });
    woken_ = false;
  }
  void wake() override {
    {
      const std::lock_guard lock(mutex_);
      woken_ = true;
    }
    wake_.notify_one();
  }

  LoopbackNetwork::State& network_;
  const FaultPlan plan_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool woken_ = false;
  Ends links_;
  unsigned next_connection_ = 0;
  ProgressThread progress_;
};

class LoopbackListener final : public Listener {
 public:
  LoopbackListener(LoopbackNetwork::State& network, Address address)
      : network_(network), address_(std::move(address)) {}
  ~LoopbackListener() override {
    const std::lock_guard lock(network_.mutex);
    network_.listening.erase(address_.port);
  }
  Address address() const override { return address_; }

 private:
  LoopbackNetwork::State& network_;
  const Address address_;
};

Result<std::unique_ptr<Listener>> LoopbackTransport::listen(const Address& address, AcceptFunction accept) {
  const std::lock_guard lock(network_.mutex);
  Address chosen = address;
  while (chosen.port == 0 || (address.port == 0 && network_.listening.contains(chosen.port)))
    chosen.port = network_.next_port++;
  if (network_.listening.contains(chosen.port)) {
    return error(ErrorCode::kIo, "cannot listen at {}: the address is in use", address.to_string());
  }
  network_.listening[chosen.port] = {this, std::make_shared<AcceptFunction>(std::move(accept))};
  return std::unique_ptr<Listener>(std::make_unique<LoopbackListener>(network_, chosen));
}

void LoopbackConnection::send_parts(std::span<const ConstBytes> parts, std::optional<std::uint64_t> tag) {
  Message message{{}, Clock::now(), tag};
  for (const ConstBytes part : parts) message.bytes.insert(message.bytes.end(), part.begin(), part.end());
  std::unique_lock lock(link_->mutex);
  End& here = link_->ends[end_];
  End& there = link_->ends[1 - end_];
  if (here.closed || here.transport == nullptr) return;
  const Fault fault = here.transport->fault(here.number, here.next_message++, message.bytes);
  const bool lost = fault.kind == Fault::Kind::kDrop;
  if (fault.kind == Fault::Kind::kCut) {
    lock.unlock();
    return close(link_, end_, error(ErrorCode::kDeviceLost, "the connection to {} was cut", peer_));
  }
  if (fault.kind == Fault::Kind::kDelay) message.due += fault.delay;
  if (fault.kind == Fault::Kind::kTruncate) message.bytes.resize(std::min(fault.at, message.bytes.size()));
  if (fault.kind == Fault::Kind::kFlip && fault.at < message.bytes.size())
    message.bytes[fault.at] ^= std::byte{1};
  if (lost && tag) {
    tell_sent(link_, end_, *tag);
  } else if (fault.kind == Fault::Kind::kReorder) {
    there.overtaken = std::move(message);
  } else if (!lost) {
    if (fault.kind == Fault::Kind::kRepeat) there.incoming.push_back({message.bytes, message.due, {}});
    there.incoming.push_back(std::move(message));
    if (there.overtaken) there.incoming.push_back(std::move(*std::exchange(there.overtaken, {})));
  }
  // If the other side has not accepted yet, it finds out when it does.
  if (there.transport != nullptr)
    there.transport->post([link = link_, end = 1 - end_] { deliver(link, end); });
}

void LoopbackConnection::receive(std::span<const MutableBytes> parts, std::uint64_t tag) {
  const std::lock_guard lock(link_->mutex);
  End& here = link_->ends[end_];
  if (here.closed_here || here.finished) return;
  here.receives.push_back({{parts.begin(), parts.end()}, tag});
  if (here.transport != nullptr && !here.incoming.empty()) {
    here.transport->post([link = link_, end = end_] { deliver(link, end); });
  }
}

void LoopbackConnection::close(const std::shared_ptr<Link>& link, unsigned end, Error reason) {
  const std::lock_guard lock(link->mutex);
  for (const unsigned e : {end, 1 - end}) {
    End& side = link->ends[e];
    if (side.closed) continue;
    side.closed =
        e == end ? reason : Error(ErrorCode::kDeviceLost, "the connection was closed by the other side");
    side.closed_here = e == end;
    if (side.transport != nullptr) side.transport->post([link, e] { finish(link, e); });
  }
}

void LoopbackConnection::tell_sent(const std::shared_ptr<Link>& link, unsigned end, std::uint64_t tag) {
  link->ends[end].transport->post([link, end, tag] {
    std::unique_lock lock(link->mutex);
    const std::shared_ptr<ConnectionHandler> handler = link->ends[end].handler;
    lock.unlock();
    if (handler != nullptr) handler->on_sent(tag);
  });
}

// On the thread of the end's transport: fills receives with what has arrived.
void LoopbackConnection::deliver(const std::shared_ptr<Link>& link, unsigned end) {
  for (;;) {
    std::unique_lock lock(link->mutex);
    End& here = link->ends[end];
    if (here.handler == nullptr || here.closed_here || here.incoming.empty() || here.receives.empty()) return;
    Message& first = here.incoming.front();
    if (first.due > Clock::now()) {
      here.transport->post_at(first.due, [link, end] { deliver(link, end); });
      return;
    }
    const Message message = std::move(first);
    here.incoming.pop_front();
    here.bytes_received += message.bytes.size();
    const Receive receive = std::move(here.receives.front());
    here.receives.pop_front();
    const std::shared_ptr<ConnectionHandler> handler = here.handler;
    const End& sender = link->ends[1 - end];
    if (message.tag && !sender.closed) tell_sent(link, 1 - end, *message.tag);
    std::size_t room = 0;
    for (const MutableBytes part : receive.parts) room += part.size();
    lock.unlock();
    if (message.bytes.size() > room) {
      return close(link, end,
                   error(ErrorCode::kDeviceLost, "a message of {} bytes arrived where at most {} are allowed",
                         message.bytes.size(), room));
    }
    ConstBytes rest = message.bytes;
    for (const MutableBytes part : receive.parts) {
      const std::size_t taken = std::min(part.size(), rest.size());
      if (taken != 0) std::memcpy(part.data(), rest.data(), taken);
      rest = rest.subspan(taken);
    }
    handler->on_received(receive.tag, message.bytes.size());
  }
}

void LoopbackConnection::finish(const std::shared_ptr<Link>& link, unsigned end) {
  deliver(link, end);
  std::unique_lock lock(link->mutex);
  End& here = link->ends[end];
  const std::shared_ptr<ConnectionHandler> handler = std::exchange(here.handler, nullptr);
  if (handler == nullptr) return;
  here.finished = true;
  const Error reason = *here.closed;
  here.receives.clear();
  here.incoming.clear();
  LoopbackTransport* const transport = here.transport;
  lock.unlock();
  handler->on_closed(reason);
  transport->forget(link, end);
}

}  // namespace

LoopbackNetwork::LoopbackNetwork() : state_(std::make_unique<State>()) {}
LoopbackNetwork::~LoopbackNetwork() = default;

std::unique_ptr<Transport> LoopbackNetwork::create_transport(FaultPlan plan) {
  return std::make_unique<LoopbackTransport>(*state_, std::move(plan));
}

}  // namespace dhpvm::offload
