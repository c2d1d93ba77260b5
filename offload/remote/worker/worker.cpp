// SPDX-License-Identifier: Apache-2.0
#include "offload/remote/worker/worker.h"

#include <sys/random.h>

#include <algorithm>
#include <future>
#include <utility>

#include "base/error.h"
#include "base/one_line.h"
#include "offload/remote/fabric/bulk_lane.h"
#include "offload/remote/fabric/frame_lane.h"
#include "offload/remote/worker/session_end.h"
#include "offload/remote/worker/worker_operator.h"

namespace dhpvm::offload {
namespace {

// The most operators at a time.
constexpr long kMostVisits = 8;
// The most bytes of the reason that an operator gives to the client of a session that it ends.
constexpr std::size_t kLongestReason = 200;

Result<wire::Token> random_token() {
  wire::Token token;
  if (getrandom(token.data(), token.size(), 0) != static_cast<ssize_t>(token.size())) {
    return error(ErrorCode::kIo, "the system has no random numbers for a session");
  }
  return token;
}

// Sends a client the reason why it gets no session.
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

// Receives the first run of a bulk lane that a client has dialled, which names its session, and passes on what follows.
// Until then the client is a stranger, with limited time.
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
    const std::shared_ptr<SessionHandle> handle =
        bytes == 0 && gate_->worker != nullptr ? gate_->worker->find(header) : nullptr;
    if (lane == nullptr) return;
    if (handle == nullptr) {
      return lane->close(error(ErrorCode::kProtocol, "bulk data for a session that does not exist"));
    }
    auto taken = handle->take_bulk(lane);
    if (!taken.ok()) return lane->close(std::move(taken).error());
    session_ = std::move(taken).value();
    visit_ = nullptr;
  }
  void on_bulk_closed(const Error& reason) override {
    visit_ = nullptr;
    if (const auto session = std::exchange(session_, nullptr)) session->on_bulk_closed(reason);
  }

 private:
  const std::shared_ptr<Gate> gate_;
  std::shared_ptr<Strangers::Visit> visit_;
  std::weak_ptr<BulkLane> lane_;
  std::shared_ptr<BulkHandler> session_;
};

Worker::Worker(Transport& transport, std::unique_ptr<SessionRunner> runner, WorkerOptions options)
    : transport_(transport),
      runner_(std::move(runner)),
      options_(std::move(options)),
      gate_(std::make_shared<Gate>(Gate{this, std::make_shared<Strangers>(options_.limits.strangers)})),
      access_(options_.identity),
      places_(options_.limits) {}

Worker::~Worker() {
  listeners_.clear();
  run_on_progress_thread([this] { gate_->worker = nullptr; });
  std::unique_lock lock(mutex_);
  for (const auto& [number, session] : sessions_) {
    transport_.post([handle = session.handle] {
      handle->close(EndCause::kShutdown, Error(ErrorCode::kDeviceLost, "the worker is shutting down"));
    });
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

ChannelOptions Worker::channel_options() {
  ChannelOptions options;
  options.role = Role::kWorker;
  {
    const std::lock_guard lock(mutex_);
    options.identity = access_.identity();
    options.other_identity = access_.other_identity();
  }
  options.seal = options_.seal;
  options.handshake_deadline = options_.handshake_deadline;
  return options;
}

Result<Address> Worker::listen(const Address& address) {
  if (channel_options().identity == nullptr && !is_loopback(address)) {
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
      auto lane = gate->worker->begin_session(channel, {}, {});
      return lane.ok() ? std::move(lane).value() : Refusal::make(channel, lane.error(), [visit] {});
    }
    if (kind == LaneKind::kOperator) return gate->worker->begin_visit(channel);
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

Result<std::shared_ptr<Lane>> Worker::begin_session(const std::shared_ptr<Channel>& channel,
                                                    const Ended& ended,
                                                    const std::function<void(std::uint64_t)>& dial_bulk) {
  const auto refuse = [&](Error reason) {
    log_refusal(channel->peer(), one_line(reason));
    return reason;
  };
  const auto token = random_token();
  if (!token.ok()) return refuse(token.error());
  std::shared_ptr<SessionHandle> handle;
  SessionStart start{.token = *token, .key_name = channel->key_name(), .peer = channel->connection().peer()};
  if (channel->outgoing() != nullptr) start.seal = channel->seal_mode();
  {
    const std::lock_guard lock(mutex_);
    if (draining_)
      return refuse(error(ErrorCode::kDeviceLost, "the worker is shutting down: use another one"));
    auto guest = access_.admit(channel->name(), channel->key_name(), Right::kUse);
    if (!guest.ok()) return refuse(std::move(guest).error());
    start.client_name = guest->name;
    start.priority = guest->priority;
    const auto place = find_place(*channel, guest->name);
    if (!place.ok()) return refuse(place.error());
    const std::uint64_t number = start.number = next_session_++;
    start.place = *place;
    if (dial_bulk) start.dial_bulk = [dial_bulk, number] { dial_bulk(number); };
    start.ended = [this, number, ended](const ClientGone& gone) {
      if (ended) ended(gone.reason, true);
      forget_session(number, gone);
    };
    SessionFacts facts{.name = channel->name(),
                       .key_name = start.key_name,
                       .client = start.client_name,
                       .peer = start.peer,
                       .priority = start.priority,
                       .place = place->number,
                       .has_identity = channel->outgoing() != nullptr,
                       .seal = start.seal,
                       .began = start.began};
    auto begun = runner_->begin(std::move(start));
    if (!begun.ok()) {
      static_cast<void>(places_.leave(number));  // a waiting session waits for served ones
      return refuse(std::move(begun).error());
    }
    ++totals_.sessions_begun;
    log_beginning(number, facts);
    handle = sessions_.emplace(number, Session{*token, std::move(begun).value(), std::move(facts)})
                 .first->second.handle;
  }
  return handle->take_frames(channel);
}

// Logs which seals protect the session, and which do not.
void Worker::log_beginning(std::uint64_t number, const SessionFacts& facts) const {
  if (!facts.key_name.empty()) log({LogLevel::kInfo, number, fmt::format("has key {}", facts.key_name), {}});
  if (facts.has_identity && facts.seal != SealMode::kFull) {
    log({LogLevel::kWarning,
         number,
         fmt::format("its arrays can be read {}on the network (seal {})",
                     facts.seal == SealMode::kNone ? "and changed " : "", name_of(facts.seal)),
         {}});
  }
  if (facts.place != 0) log({LogLevel::kInfo, number, fmt::format("waits at place {}", facts.place), {}});
}

// The lane for an operator. Only few at a time, because the process that everything depends on serves them.
std::shared_ptr<Lane> Worker::begin_visit(const std::shared_ptr<Channel>& channel) {
  const auto refuse = [&](Error reason) {
    log_refusal(channel->peer(), one_line(reason));
    return Refusal::make(channel, std::move(reason), [] {});
  };
  {
    const std::lock_guard lock(mutex_);
    auto guest = access_.admit(channel->name(), channel->key_name(), Right::kOperate);
    if (!guest.ok()) return refuse(std::move(guest).error());
  }
  if (visits_.use_count() > kMostVisits)
    return refuse(error(ErrorCode::kDeviceExhausted, "other operators are at work: try again later"));
  log({LogLevel::kInfo, 0, fmt::format("an operator has connected from {}", channel->peer()), {}});
  OperatorActions actions;
  // Checked for each request, because the right may have been taken away.
  const auto worker = [gate = gate_, name = channel->name(), key = channel->key_name()]() -> Result<Worker*> {
    if (gate->worker == nullptr) return error(ErrorCode::kDeviceLost, "the worker is shutting down");
    const std::lock_guard lock(gate->worker->mutex_);
    auto guest = gate->worker->access_.admit(name, key, Right::kOperate);
    if (!guest.ok()) return std::move(guest).error();
    return gate->worker;
  };
  actions.report = [worker, visit = visits_]() -> Result<WorkerReport> {
    DHPVM_ASSIGN(Worker* const present, worker());
    return present->report();
  };
  actions.end_session = [worker, peer = channel->peer()](std::uint64_t number,
                                                         const std::string& reason) -> Status {
    DHPVM_ASSIGN(Worker* const present, worker());
    present->log({LogLevel::kInfo, number, fmt::format("the operator {} ends it", peer), {}});
    return present->end_session(number, reason);
  };
  return make_operator_lane(channel, std::move(actions));
}

WorkerReport Worker::report() {
  const auto since = [now = std::chrono::steady_clock::now()](std::chrono::steady_clock::time_point then) {
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::milliseconds>(now - then).count());
  };
  const std::lock_guard lock(mutex_);
  WorkerReport report = totals_;
  report.facts = {options_.name,           options_.release, since(began_), options_.limits.sessions,
                  options_.limits.waiting, draining_};
  report.devices = runner_->devices();
  report.refused = refused_;
  for (const auto& [number, session] : sessions_) {
    const SessionFacts& known = session.facts;
    const SessionFigures& figures = session.handle->figures();
    wire::SessionFacts& facts = report.sessions.emplace_back();
    facts.number = number;
    facts.place = known.place;
    facts.program = figures.program();
    facts.client = printable(known.client, kLongestCertificateName);
    facts.key = known.key_name;
    facts.peer = known.peer;
    facts.seal = name_of(known.seal);
    facts.age_ms = since(known.began);
    facts.jobs = figures.jobs;
    facts.bytes_in = figures.bytes_in;
    facts.bytes_out = figures.bytes_out;
    facts.memory_bytes = figures.memory_bytes;
    facts.devices = figures.devices;
    facts.priority = known.priority;
  }
  return report;
}

Status Worker::end_session(std::uint64_t number, const std::string& reason) {
  const std::shared_ptr<SessionHandle> handle = find(number);
  if (handle == nullptr)
    return error(ErrorCode::kNotFound, "the worker has no session {}: it may have ended already", number);
  const std::string text = printable(reason, kLongestReason);
  transport_.post([handle, text] {
    handle->close(EndCause::kEnded,
                  error(ErrorCode::kDeviceLost, "the worker's operator has ended the session{}{}",
                        text.empty() ? "" : ": ", text));
  });
  return {};
}

void Worker::set_access(WorkerAccess access) {
  const std::lock_guard lock(mutex_);
  access_ = std::move(access);
  places_.set_clients(access_.clients());
  for (const auto& [number, session] : sessions_) {
    auto guest = access_.admit(session.facts.name, session.facts.key_name, Right::kUse);
    if (guest.ok()) continue;
    transport_.post(
        [handle = session.handle, reason = guest.error()] { handle->close(EndCause::kRevoked, reason); });
  }
}

// For the next session; with the mutex held.
Result<SessionPlace> Worker::find_place(const Channel& channel, const std::string& client) {
  // Clients of kVersionWithoutRange cannot be told that they wait.
  const auto patience = channel.version() > kVersionWithoutRange ? WorkerPlaces::Patience::kWaits
                                                                 : WorkerPlaces::Patience::kNone;
  if (const auto place = places_.enter(next_session_, client, patience)) return *place;
  return error(
      ErrorCode::kDeviceExhausted,
      "the worker has {} sessions, which is its limit, and {} that wait: try again later, or start it with "
      "--lend=sessions=N,waiting=N",
      places_.served(), places_.waiting());
}

void Worker::log_refusal(const std::string& peer, const std::string& reason) {
  ++refused_;
  const bool has_room = refusals_.take(LogBudget::Clock::now());
  if (const unsigned others = refusals_.take_left_out(); others != 0)
    log({LogLevel::kWarning, 0, fmt::format("refused {} others", others), {}});
  if (has_room) log({LogLevel::kWarning, 0, fmt::format("refused {}: {}", peer, reason), {}});
}

std::shared_ptr<SessionHandle> Worker::find(std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  const auto found = sessions_.find(number);
  return found == sessions_.end() ? nullptr : found->second.handle;
}

std::shared_ptr<SessionHandle> Worker::find(ConstBytes token) {
  const std::lock_guard lock(mutex_);
  for (const auto& [number, session] : sessions_) {
    if (token.size() != session.token.size()) continue;
    // Takes the same time wherever the first difference is.
    unsigned difference = 0;
    for (std::size_t i = 0; i < token.size(); ++i) {
      difference |= std::to_integer<unsigned>(token[i] ^ session.token[i]);
    }
    if (difference == 0) return session.handle;
  }
  return nullptr;
}

Status Worker::dial(const Address& address, const std::string& host, const Ended& ended) {
  if (channel_options().identity == nullptr && !is_loopback(address)) {
    return error(ErrorCode::kInvalidArgument,
                 "without a key, only clients on this machine can be dialled, and {} is elsewhere: give both "
                 "a key file "
                 "(--key-file; `dhpvm-run --make-key FILE` makes one)",
                 address.to_string());
  }
  Channel::MakeLane make_lane = [gate = gate_, address, host, ended](const std::shared_ptr<Channel>& channel,
                                                                     LaneKind) -> std::shared_ptr<Lane> {
    if (gate->worker == nullptr) return nullptr;
    const std::uint16_t version = channel->version();
    auto lane =
        gate->worker->begin_session(channel, ended, [gate, address, host, version](std::uint64_t number) {
          if (gate->worker != nullptr) gate->worker->dial_bulk(address, host, version, number);
        });
    if (lane.ok()) return std::move(lane).value();
    return Refusal::make(channel, lane.error(), [ended, reason = lane.error()] { ended(reason, false); });
  };
  Channel::dial(transport_, address, host, LaneKind::kFrames, channel_options(), std::move(make_lane),
                [ended](const Error& reason) { ended(reason, false); });
  return {};
}

void Worker::dial_bulk(const Address& address, const std::string& host, std::uint16_t version,
                       std::uint64_t number) {
  ChannelOptions options = channel_options();
  options.version = version;
  const auto handle_of = [gate = gate_, number] {
    return gate->worker == nullptr ? nullptr : gate->worker->find(number);
  };
  Channel::MakeLane make_lane = [handle_of](const std::shared_ptr<Channel>& channel,
                                            LaneKind) -> std::shared_ptr<Lane> {
    const std::shared_ptr<SessionHandle> handle = handle_of();
    if (handle == nullptr) return nullptr;
    auto lane = handle->take_dialled_bulk(channel);
    return lane.ok() ? std::move(lane).value() : nullptr;
  };
  Channel::dial(transport_, address, host, LaneKind::kBulk, std::move(options), std::move(make_lane),
                [handle_of](const Error& reason) {
                  if (const auto handle = handle_of()) handle->close(EndCause::kLost, reason);
                });
}

bool Worker::drain(std::chrono::steady_clock::time_point deadline) {
  std::unique_lock lock(mutex_);
  if (!std::exchange(draining_, true)) {
    for (const auto& [number, session] : sessions_)
      transport_.post([handle = session.handle] { handle->announce_end(); });
  }
  return changed_.wait_until(lock, deadline, [this] { return sessions_.empty(); });
}

unsigned Worker::sessions() {
  const std::lock_guard lock(mutex_);
  return static_cast<unsigned>(sessions_.size());
}

void Worker::forget_session(std::uint64_t number, const ClientGone& gone) {
  // Notify under the lock: the waiting thread may destroy the worker as soon as it has the lock.
  const std::lock_guard lock(mutex_);
  sessions_.erase(number);
  ++totals_.ended[static_cast<std::size_t>(gone.cause)];
  if (gone.work) {
    totals_.work.jobs += gone.work->jobs;
    totals_.work.bytes_in += gone.work->bytes_in;
    totals_.work.bytes_out += gone.work->bytes_out;
  }
  for (const auto& [moving, place] : places_.leave(number)) {
    const auto found = sessions_.find(moving);
    if (found == sessions_.end()) continue;
    found->second.facts.place = place.number;
    if (!draining_) found->second.handle->move_to(place);
  }
  changed_.notify_all();
}

}  // namespace dhpvm::offload
