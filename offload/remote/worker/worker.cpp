// SPDX-License-Identifier: Apache-2.0
#include "offload/remote/worker/worker.h"

#include <sys/random.h>

#include <algorithm>
#include <future>
#include <utility>

#include "base/error.h"
#include "base/one_line.h"
#include "offload/remote/fabric/bulk_lane.h"
#include "offload/remote/worker/worker_session.h"

namespace dhpvm::offload {
namespace {

// Bytes of unread replies a session may queue. A client that reads them never has more than a few per operation.
constexpr std::size_t kMostWaiting = 4 << 20;
// Lines of the log in a second about connections that are refused: a crowd of them must not fill the disk.
constexpr unsigned kMostRefusals = 20;

Result<wire::Token> random_token() {
  wire::Token token;
  if (getrandom(token.data(), token.size(), 0) != static_cast<ssize_t>(token.size())) {
    return error(ErrorCode::kIo, "the system has no random numbers for a session");
  }
  return token;
}

// Tells a client why it gets no session.
class Refusal final : public FrameHandler {
 public:
  static std::shared_ptr<Lane> make(const std::shared_ptr<Channel>& channel, Error reason,
                                    std::function<void()> ended) {
    auto refusal = std::make_shared<Refusal>(std::move(reason), std::move(ended));
    auto lane = std::make_shared<FrameLane>(channel, refusal, FrameLaneOptions{});
    refusal->lane_ = lane;
    return lane;
  }
  Refusal(Error reason, std::function<void()> ended) : reason_(std::move(reason)), ended_(std::move(ended)) {}
  void on_open() override {
    if (const auto lane = lane_.lock()) lane->close(reason_);
  }
  void on_frame(ConstBytes) override {}
  void on_closed(const Error&) override { ended_(); }

 private:
  const Error reason_;
  const std::function<void()> ended_;
  std::weak_ptr<FrameLane> lane_;
};

}  // namespace

// Hears the first run of a bulk lane that a client has dialled, which says whose it is, and passes on what
// follows. Until then it is a stranger, and does not have forever.
class Worker::Entrance final : public BulkHandler, public std::enable_shared_from_this<Entrance> {
 public:
  Entrance(std::shared_ptr<Gate> gate, std::shared_ptr<Strangers::Visit> visit)
      : gate_(std::move(gate)), visit_(std::move(visit)) {}
  void attach(const std::shared_ptr<BulkLane>& lane) {
    lane_ = lane;
    Worker& worker = *gate_->worker;
    const auto deadline = worker.options_.handshake_deadline;
    worker.transport_.post_at(Transport::Clock::now() + deadline, [weak = weak_from_this(), deadline] {
      const auto entrance = weak.lock();
      const auto late = entrance == nullptr ? nullptr : entrance->lane_.lock();
      if (late == nullptr || entrance->session_ != nullptr) return;
      late->drop(
          error(ErrorCode::kDeviceLost, "it has not said for {} ms whose data it brings", deadline.count()));
    });
  }

  void on_bulk_open() override {}
  void on_run(ConstBytes header, std::uint64_t bytes) override {
    if (session_ != nullptr) return session_->on_run(header, bytes);
    const auto lane = lane_.lock();
    std::shared_ptr<WorkerSession> session =
        bytes == 0 && gate_->worker != nullptr ? gate_->worker->find(header) : nullptr;
    if (lane == nullptr) return;
    if (session == nullptr || !session->attach_bulk(lane)) {
      return lane->close(error(ErrorCode::kProtocol, "bulk data for a session that does not exist"));
    }
    session_ = std::move(session);
    visit_ = nullptr;
    session_->become_ready();
  }
  void on_bulk_closed(const Error& reason) override {
    visit_ = nullptr;
    if (const auto session = std::exchange(session_, nullptr)) session->on_bulk_closed(reason);
  }

 private:
  const std::shared_ptr<Gate> gate_;
  std::shared_ptr<Strangers::Visit> visit_;
  std::weak_ptr<BulkLane> lane_;
  std::shared_ptr<WorkerSession> session_;
};

Worker::Worker(Fabric& fabric, Transport& transport, std::vector<std::shared_ptr<Device>> devices,
               WorkerOptions options)
    : fabric_(fabric),
      transport_(transport),
      devices_(std::move(devices)),
      options_(std::move(options)),
      gate_(std::make_shared<Gate>(Gate{this, std::make_shared<Strangers>(options_.limits.strangers)})) {}

Worker::~Worker() {
  listeners_.clear();
  run_on_progress_thread([this] { gate_->worker = nullptr; });
  std::unique_lock lock(mutex_);
  for (const auto& [key, session] : sessions_) {
    transport_.post(
        [session] { session->close(Error(ErrorCode::kDeviceLost, "the worker is shutting down")); });
  }
  changed_.wait(lock, [this] { return sessions_.empty(); });
}

void Worker::run_on_progress_thread(const std::function<void()>& function) {
  std::promise<void> done;
  transport_.post([&] {
    function();
    done.set_value();
  });
  done.get_future().wait();
}

ChannelOptions Worker::channel_options() const {
  ChannelOptions options;
  options.role = Role::kWorker;
  options.identity = options_.identity;
  options.seal = options_.seal;
  options.handshake_deadline = options_.handshake_deadline;
  return options;
}

Result<Address> Worker::listen(const Address& address) {
  if (options_.identity == nullptr && !is_loopback(address)) {
    return error(ErrorCode::kInvalidArgument,
                 "without a key, a worker listens on this machine only, and {} can be reached from "
                 "elsewhere: give it a key "
                 "file (--key-file; `dhpvm-run --make-key FILE` makes one), or let it listen at 127.0.0.1",
                 address.to_string());
  }
  DHPVM_ASSIGN(
      std::unique_ptr<Listener> listener,
      transport_.listen(
          address,
          [gate = gate_](std::shared_ptr<Connection> connection) -> std::shared_ptr<ConnectionHandler> {
            return gate->worker == nullptr ? nullptr : gate->worker->accept(std::move(connection));
          }));
  const Address chosen = listener->address();
  listeners_.push_back(std::move(listener));
  return chosen;
}

std::shared_ptr<ConnectionHandler> Worker::accept(std::shared_ptr<Connection> connection) {
  const std::string peer = connection->peer();
  // Held by the functions that the channel keeps until it is open.
  const std::shared_ptr<Strangers::Visit> visit = gate_->strangers->enter(connection);
  Channel::MakeLane make_lane = [gate = gate_, visit](const std::shared_ptr<Channel>& channel,
                                                      LaneKind kind) -> std::shared_ptr<Lane> {
    if (gate->worker == nullptr) return nullptr;
    if (kind == LaneKind::kFrames) {
      auto session = gate->worker->begin_session(channel, {});
      if (!session.ok()) return Refusal::make(channel, session.error(), [visit] {});
      return (*session)->frames();
    }
    auto entrance = std::make_shared<Entrance>(gate, visit);
    auto lane = std::make_shared<BulkLane>(channel, entrance);
    entrance->attach(lane);
    return lane;
  };
  return Channel::accept(transport_, std::move(connection), channel_options(), std::move(make_lane),
                         [gate = gate_, peer, visit](const Error& reason) {
                           if (gate->worker != nullptr) gate->worker->log_refusal(peer, one_line(reason));
                         });
}

Result<std::shared_ptr<WorkerSession>> Worker::begin_session(const std::shared_ptr<Channel>& channel,
                                                             Ended ended) {
  const auto refuse = [&](Error reason) {
    log_refusal(channel->peer(), reason.message());
    return reason;
  };
  const auto token = random_token();
  if (!token.ok()) return refuse(token.error());
  const std::lock_guard lock(mutex_);
  if (draining_) return refuse(error(ErrorCode::kDeviceLost, "the worker is shutting down: use another one"));
  if (sessions_.size() >= options_.limits.sessions) {
    return refuse(error(ErrorCode::kDeviceExhausted,
                        "the worker has {} sessions, which is its limit: try again later, or start it with "
                        "--lend=sessions=N",
                        sessions_.size()));
  }
  auto session = std::make_shared<WorkerSession>(*this, next_session_++, *token,
                                                 [ended = std::move(ended)](const Error& reason) {
                                                   if (ended) ended(reason, true);
                                                 });
  session->attach(std::make_shared<FrameLane>(channel, session,
                                              FrameLaneOptions{options_.silence_deadline, kMostWaiting}));
  sessions_.emplace(session.get(), session);
  transport_.post_at(
      Transport::Clock::now() + options_.handshake_deadline,
      [weak = std::weak_ptr(session), deadline = options_.handshake_deadline] {
        const auto late = weak.lock();
        if (late == nullptr || late->is_ready()) return;
        late->close(error(ErrorCode::kDeviceLost, "the client has not opened its second connection for {} ms",
                          deadline.count()));
      });
  return session;
}

void Worker::log_refusal(const std::string& peer, const std::string& reason) {
  const Transport::Clock::time_point now = Transport::Clock::now();
  if (now - refusals_since_ >= std::chrono::seconds(1)) {
    if (refusals_ > kMostRefusals) log(fmt::format("refused {} others", refusals_ - kMostRefusals));
    refusals_since_ = now;
    refusals_ = 0;
  }
  if (++refusals_ <= kMostRefusals) log(fmt::format("refused {}: {}", peer, reason));
}

std::shared_ptr<WorkerSession> Worker::find(ConstBytes token) {
  const std::lock_guard lock(mutex_);
  for (const auto& [key, session] : sessions_) {
    if (token.size() != session->token().size()) continue;
    // Takes the same time wherever the first difference is.
    unsigned difference = 0;
    for (std::size_t i = 0; i < token.size(); ++i) {
      difference |= std::to_integer<unsigned>(token[i] ^ session->token()[i]);
    }
    if (difference == 0) return session;
  }
  return nullptr;
}

Status Worker::dial(const Address& address, const std::string& host, const Ended& ended) {
  if (options_.identity == nullptr && !is_loopback(address)) {
    return error(ErrorCode::kInvalidArgument,
                 "without a key, only clients on this machine can be dialled, and {} is elsewhere: give both "
                 "a key file "
                 "(--key-file; `dhpvm-run --make-key FILE` makes one)",
                 address.to_string());
  }
  Channel::MakeLane make_lane = [gate = gate_, address, host, ended](const std::shared_ptr<Channel>& channel,
                                                                     LaneKind) -> std::shared_ptr<Lane> {
    if (gate->worker == nullptr) return nullptr;
    auto begun = gate->worker->begin_session(channel, ended);
    if (!begun.ok()) {
      return Refusal::make(channel, begun.error(), [ended, reason = begun.error()] { ended(reason, false); });
    }
    const std::shared_ptr<WorkerSession> session = std::move(begun).value();
    // Only then the client knows the token that opens the other lane.
    session->when_welcome([gate, address, host, weak = std::weak_ptr(session)] {
      const auto welcomed = weak.lock();
      if (welcomed != nullptr && gate->worker != nullptr) gate->worker->dial_bulk(address, host, welcomed);
    });
    return session->frames();
  };
  Channel::dial(transport_, address, host, LaneKind::kFrames, channel_options(), std::move(make_lane),
                [ended](const Error& reason) { ended(reason, false); });
  return {};
}

void Worker::dial_bulk(const Address& address, const std::string& host,
                       const std::shared_ptr<WorkerSession>& session) {
  Channel::MakeLane make_lane = [session](const std::shared_ptr<Channel>& channel,
                                          LaneKind) -> std::shared_ptr<Lane> {
    auto lane = std::make_shared<BulkLane>(channel, session);
    return session->attach_bulk(lane) ? lane : nullptr;
  };
  Channel::dial(transport_, address, host, LaneKind::kBulk, channel_options(), std::move(make_lane),
                [session](const Error& reason) { session->close(reason); });
}

bool Worker::drain(std::chrono::steady_clock::time_point deadline) {
  std::unique_lock lock(mutex_);
  draining_ = true;
  for (const auto& [key, session] : sessions_) {
    transport_.post([session] { session->announce_end(); });
  }
  return changed_.wait_until(lock, deadline, [this] { return sessions_.empty(); });
}

unsigned Worker::sessions() {
  const std::lock_guard lock(mutex_);
  return static_cast<unsigned>(sessions_.size());
}

void Worker::remove(WorkerSession& session) {
  // Notify under the lock: the waiting thread may destroy the worker as soon as it has the lock.
  const std::lock_guard lock(mutex_);
  sessions_.erase(&session);
  changed_.notify_all();
}

}  // namespace dhpvm::offload
