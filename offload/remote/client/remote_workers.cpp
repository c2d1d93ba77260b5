// SPDX-License-Identifier: Apache-2.0
#include "offload/remote/client/remote_workers.h"

#include <algorithm>
#include <future>
#include <thread>
#include <utility>

#include "base/error.h"

namespace dhpvm::offload {
namespace {

// The wait before a worker that was lost, or did not answer, is dialled again; doubled after each failure.
constexpr std::chrono::seconds kRedial{1};
constexpr std::chrono::seconds kSlowestRedial{15};
// If another worker is there, the program waits at most this long for the first answer of one that is dialled.
constexpr std::chrono::milliseconds kGrace{300};
// The most connections that have not authenticated themselves yet.
constexpr std::size_t kStrangers = 1024;

std::string one_line(const Error& error) {
  std::string text = error.message();
  for (const Error* cause = error.cause(); cause != nullptr; cause = cause->cause()) {
    text += ": " + cause->message();
  }
  return text;
}

// Includes the work done over earlier connections.
PeerStatus status_of(RemoteLink& link, const PeerStatus& past) {
  constexpr std::string_view kSeals[] = {"none", "integrity", "full"};
  const RemoteLink::Traffic traffic = link.traffic();
  const std::optional<Error> gone = link.gone();
  PeerStatus status = past;
  status.name = fmt::format("{}/{}", kRemotePrefix, link.address());
  status.host = link.welcome().name;
  status.state = gone ? one_line(*gone) : "ready";
  status.seal = traffic.is_authenticated ? kSeals[static_cast<unsigned>(traffic.seal)] : "no key";
  status.jobs += traffic.jobs;
  status.bytes_sent += traffic.bytes_sent;
  status.bytes_received += traffic.bytes_received;
  status.round_trip = traffic.round_trip;
  return status;
}

}  // namespace

// Receives the first run of a bulk lane that a worker has dialled, which names the link that it belongs to.
class RemoteWorkers::Entrance final : public BulkHandler {
 public:
  explicit Entrance(std::shared_ptr<Gate> gate) : gate_(std::move(gate)) {}
  void attach(std::weak_ptr<BulkLane> lane) { lane_ = std::move(lane); }

  void on_bulk_open() override {}
  void on_run(ConstBytes header, std::uint64_t bytes) override {
    if (link_ != nullptr) return link_->on_run(header, bytes);
    const auto lane = lane_.lock();
    if (lane == nullptr) return;
    if (bytes == 0 && gate_->workers != nullptr) {
      const std::lock_guard lock(gate_->workers->mutex_);
      for (const std::shared_ptr<RemoteLink>& link : gate_->workers->arrived_) {
        if (link->accept_bulk(header, lane)) link_ = link;
      }
    }
    if (link_ == nullptr)
      lane->close(error(ErrorCode::kProtocol, "bulk data for a session that does not exist"));
  }
  void on_bulk_closed(const Error& reason) override {
    if (const auto link = std::exchange(link_, nullptr)) link->on_bulk_closed(reason);
  }

 private:
  const std::shared_ptr<Gate> gate_;
  std::weak_ptr<BulkLane> lane_;
  std::shared_ptr<RemoteLink> link_;
};

Result<std::unique_ptr<RemoteWorkers>> RemoteWorkers::create(Fabric& fabric, RemoteWorkersOptions options) {
  DHPVM_ASSIGN(std::unique_ptr<Transport> transport, fabric.create_transport({.provider = options.provider}));
  std::unique_ptr<RemoteWorkers> made(new RemoteWorkers(fabric, *transport, std::move(options)));
  made->own_transport_ = std::move(transport);
  DHPVM_TRY(made->start());
  return made;
}

Result<std::unique_ptr<RemoteWorkers>> RemoteWorkers::create(Fabric& fabric, Transport& transport,
                                                             RemoteWorkersOptions options) {
  std::unique_ptr<RemoteWorkers> made(new RemoteWorkers(fabric, transport, std::move(options)));
  DHPVM_TRY(made->start());
  return made;
}

RemoteWorkers::RemoteWorkers(Fabric& fabric, Transport& transport, RemoteWorkersOptions options)
    : fabric_(fabric),
      transport_(transport),
      options_(std::move(options)),
      gate_(std::make_shared<Gate>(Gate{this, std::make_shared<Strangers>(kStrangers)})) {}

RemoteWorkers::~RemoteWorkers() {
  listener_ = nullptr;
  std::promise<void> closed;
  transport_.post([&] {
    gate_->workers = nullptr;
    closed.set_value();
  });
  closed.get_future().wait();
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    for (const auto& [name, worker] : dialled_) {
      if (worker.attempt == nullptr) continue;
      worker.attempt->drop(program_ends());
    }
    for (const auto& link : arrived_) link->drop(program_ends());
    changed_.notify_all();
  }
  for (auto& [name, worker] : dialled_) worker.thread.join();
  for (const auto& link : arrived_) link->close();
}

Status RemoteWorkers::start() {
  const Credentials& credentials = options_.credentials;
  if (!credentials.key.empty() || !credentials.certificate_file.empty()) {
    DHPVM_ASSIGN(identity_, fabric_.load_identity(credentials));
  }
  {
    const std::lock_guard lock(mutex_);
    for (const Address& address : options_.workers) keep_dialled(address);
  }
  if (!options_.listen) return {};
  if (identity_ == nullptr && !is_loopback(*options_.listen)) {
    return error(ErrorCode::kInvalidArgument,
                 "without a key, workers on this machine only may dial in, and {} can be reached from "
                 "elsewhere: give a key "
                 "file (--key-file; `dhpvm-run --make-key FILE` makes one), or listen at 127.0.0.1",
                 options_.listen->to_string());
  }
  const AcceptFunction accept =
      [gate = gate_](std::shared_ptr<Connection> connection) -> std::shared_ptr<ConnectionHandler> {
    if (gate->workers == nullptr) return nullptr;
    // Held by the function that the channel keeps until it is open.
    const std::shared_ptr<Strangers::Visit> visit = gate->strangers->enter(connection);
    const Channel::MakeLane make_lane = [gate, visit](const std::shared_ptr<Channel>& channel,
                                                      LaneKind kind) -> std::shared_ptr<Lane> {
      return gate->workers == nullptr ? nullptr : gate->workers->make_lane(channel, kind);
    };
    return Channel::accept(gate->workers->transport_, std::move(connection),
                           gate->workers->link_options().channel, make_lane, [](const Error&) {});
  };
  DHPVM_ASSIGN(listener_, transport_.listen(*options_.listen, accept));
  return {};
}

RemoteLinkOptions RemoteWorkers::link_options() const {
  RemoteLinkOptions options;
  options.channel.role = Role::kClient;
  options.channel.version = options_.version;
  options.channel.newest = options_.version;
  options.channel.identity = identity_;
  options.channel.seal = options_.seal;
  options.channel.handshake_deadline = options_.handshake_deadline;
  options.silence_deadline = options_.silence_deadline;
  options.writes_back = options_.writes_back;
  options.name = options_.name;
  options.release = options_.release;
  return options;
}

// With the mutex held.
RemoteWorkers::Dialled& RemoteWorkers::keep_dialled(const Address& address) {
  const auto [entry, is_new] = dialled_.try_emplace(address.to_string());
  Dialled& worker = entry->second;
  if (is_new) {
    worker.address = address;
    worker.since = std::chrono::steady_clock::now();
  }
  Status started = worker.thread.start_once("dhpvm-worker", [this, &worker] { run(worker); });
  if (!started.ok()) {
    worker.tried = true;
    worker.problem = std::move(started).error().with_context(
        fmt::format("the worker {} cannot be used", address.to_string()));
  }
  return worker;
}

Result<std::shared_ptr<RemoteLink>> RemoteWorkers::link(const Address& address) {
  const std::string name = address.to_string();
  std::unique_lock lock(mutex_);
  for (const auto& link : arrived_) {
    if (link->address() == name && link->is_ready() && !link->gone()) return link;
  }
  const Dialled& worker = keep_dialled(address);
  const auto has_answered = [&] { return worker.tried; };
  changed_.wait(lock, [&] { return has_answered() || has_any(); });
  if (!changed_.wait_until(lock, worker.since + kGrace, has_answered)) {
    return error(ErrorCode::kDeviceLost, "the worker {} has not answered yet", name);
  }
  if (worker.problem) return *worker.problem;
  if (std::optional<Error> gone = worker.link->gone()) return std::move(*gone);
  return worker.link;
}

// With the mutex held.
bool RemoteWorkers::has_any() const {
  return std::ranges::any_of(dialled_,
                             [](const auto& entry) {
                               const Dialled& worker = entry.second;
                               return worker.link != nullptr && !worker.link->gone();
                             }) ||
         std::ranges::any_of(arrived_, [](const auto& link) { return link->is_ready() && !link->gone(); });
}

RemoteWorkers::Present RemoteWorkers::present() {
  Present present;
  for (const Address& address : options_.workers) {
    auto link = this->link(address);
    if (link.ok()) {
      present.links.push_back(std::move(link).value());
    } else {
      present.absent.push_back(std::move(link).error());
    }
  }
  std::ranges::move(arrived(), std::back_inserter(present.links));
  return present;
}

std::vector<PeerStatus> RemoteWorkers::status() {
  std::vector<PeerStatus> all;
  const std::lock_guard lock(mutex_);
  for (const auto& [name, worker] : dialled_) {
    const bool is_there = worker.link != nullptr && !worker.link->failure();
    PeerStatus status = is_there ? status_of(*worker.link, worker.past) : worker.past;
    status.name = fmt::format("{}/{}", kRemotePrefix, name);
    if (!is_there && worker.problem) status.state = one_line(*worker.problem);
    all.push_back(std::move(status));
  }
  for (const auto& link : arrived_) {
    if (link->is_ready()) all.push_back(status_of(*link, {}));
  }
  all.insert(all.end(), departed_.begin(), departed_.end());
  return all;
}

// The thread for one worker: dials it whenever it is not connected.
void RemoteWorkers::run(Dialled& worker) {
  std::chrono::seconds delay = kRedial;
  std::unique_lock lock(mutex_);
  while (!ending_) {
    lock.unlock();
    Result<std::shared_ptr<RemoteLink>> made = dial(worker);
    lock.lock();
    worker.tried = true;
    worker.problem.reset();
    if (made.ok()) {
      worker.link = *made;
    } else {
      worker.problem = made.error();
    }
    changed_.notify_all();
    if (made.ok()) {
      lock.unlock();
      (*made)->wait_until_lost();
      (*made)->close();
      lock.lock();
      worker.past = status_of(**made, worker.past);
    }
    if (made.ok()) delay = kRedial;
    changed_.wait_for(lock, delay, [this] { return ending_; });
    if (!made.ok()) delay = std::min(2 * delay, kSlowestRedial);
  }
}

// Dials the host's addresses until one answers.
Result<std::shared_ptr<RemoteLink>> RemoteWorkers::dial(Dialled& worker) {
  const Address& address = worker.address;
  const auto numeric = resolve(address);
  // Names of machines may become known later.
  if (!numeric.ok()) {
    return Error(ErrorCode::kDeviceLost, numeric.error().message())
        .with_context(fmt::format("the worker {} cannot be used", address.to_string()));
  }
  Error problem(ErrorCode::kDeviceLost, "no address");
  for (const Address& candidate : *numeric) {
    if (identity_ == nullptr && !is_loopback(candidate)) {
      problem = error(ErrorCode::kInvalidArgument,
                      "without a key, only workers on this machine are dialled, and {} is not on it: give "
                      "both a key file "
                      "(--key-file; `dhpvm-run --make-key FILE` makes one)",
                      candidate.to_string());
      continue;
    }
    auto link = std::make_shared<RemoteLink>(fabric_, transport_, address.to_string(), link_options());
    {
      const std::lock_guard lock(mutex_);
      if (ending_) return Error(ErrorCode::kDeviceLost, "the program ends");
      worker.attempt = link;
    }
    transport_.post([link, candidate, host = address.host] { link->dial(candidate, host); });
    Status status = link->wait_until_ready([&](std::uint64_t place) {
      const std::lock_guard lock(mutex_);
      worker.tried = true;
      worker.problem =
          error(ErrorCode::kDeviceExhausted, "the worker {} is full: this program has place {} in its queue",
                address.to_string(), place);
      changed_.notify_all();
    });
    if (status.ok()) return link;
    link->close();
    problem = std::move(status).error();
  }
  // A reason that concerns one worker may pass, and the program goes on with the others; a mistake of the user stays.
  const ErrorCode code =
      problem.code() == ErrorCode::kInvalidArgument ? problem.code() : ErrorCode::kDeviceLost;
  return Error(code, one_line(problem))
      .with_context(
          fmt::format("the worker {} cannot be used. It is started there with `dhpvm-run --worker --listen`",
                      address.to_string()));
}

std::shared_ptr<Lane> RemoteWorkers::make_lane(const std::shared_ptr<Channel>& channel, LaneKind kind) {
  if (kind == LaneKind::kBulk) {
    auto entrance = std::make_shared<Entrance>(gate_);
    auto lane = std::make_shared<BulkLane>(channel, entrance);
    entrance->attach(lane);
    return lane;
  }
  if (kind != LaneKind::kFrames) return nullptr;
  auto link = std::make_shared<RemoteLink>(fabric_, transport_, channel->peer(), link_options());
  const std::lock_guard lock(mutex_);
  arrived_.push_back(link);
  return link->accept(channel);
}

std::vector<std::shared_ptr<RemoteLink>> RemoteWorkers::arrived() {
  std::vector<std::shared_ptr<RemoteLink>> ready;
  std::vector<std::shared_ptr<RemoteLink>> lost;
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(arrived_, [&](const auto& link) {
      if (link->failure()) lost.push_back(link);
      if (link->failure() && link->was_ready()) departed_.push_back(status_of(*link, {}));
      return link->failure().has_value();
    });
    std::ranges::copy_if(arrived_, std::back_inserter(ready),
                         [](const auto& link) { return link->is_ready() && !link->gone(); });
  }
  for (const auto& link : lost) link->close();
  return ready;
}

bool RemoteWorkers::wait_for_arrivals(std::size_t count, std::chrono::steady_clock::time_point deadline) {
  // Arrivals are seconds apart, so that looking from time to time is enough.
  while (arrived().size() < count) {
    if (std::chrono::steady_clock::now() >= deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

std::optional<Address> RemoteWorkers::listening() const {
  if (listener_ == nullptr) return {};
  return listener_->address();
}

}  // namespace dhpvm::offload
