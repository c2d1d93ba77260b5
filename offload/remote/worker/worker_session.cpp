// SPDX-License-Identifier: Apache-2.0
#include "offload/remote/worker/worker_session.h"

#include <algorithm>
#include <utility>

#include "base/one_line.h"

namespace dhpvm::offload {

WorkerSession::WorkerSession(SessionHost& host, wire::Token token, const SessionPlace& place,
                             std::function<void()> dial_bulk)
    : host_(host),
      token_(token),
      dial_bulk_(std::move(dial_bulk)),
      limits_(host.options().limits),
      first_place_(place),
      place_(place.number),
      devices_(host.facts().size()) {}

WorkerSession::~WorkerSession() = default;

std::shared_ptr<FrameLane> WorkerSession::attach(const std::shared_ptr<Channel>& channel) {
  frames_ = std::make_shared<FrameLane>(channel, shared_from_this(),
                                        FrameLaneOptions{host_.options().silence_deadline, kMostWaiting});
  // A session that had to wait may get its place before its client has sent anything.
  if (first_place_.number == 0) serve(first_place_);
  return frames_;
}

void WorkerSession::serve(const SessionPlace& place) {
  limits_.memory_bytes = std::min(limits_.memory_bytes, place.memory_bytes);
  if (place.time.count() != 0)
    limits_.time = limits_.time.count() == 0 ? place.time : std::min(limits_.time, place.time);
  is_served_ = true;
  host_.prepare();
  await_bulk();
  if (greeted_) welcome();
}

void WorkerSession::await_bulk() {
  const auto deadline = host_.options().handshake_deadline;
  host_.transport().post_at(Transport::Clock::now() + deadline, [weak = weak_from_this(), deadline] {
    const auto late = weak.lock();
    if (late == nullptr || late->has_bulk_) return;
    late->close(EndCause::kDeadline,
                error(ErrorCode::kDeviceLost, "the client has not opened its second connection for {} ms",
                      deadline.count()));
  });
}

Status WorkerSession::attach_bulk(std::shared_ptr<BulkLane> bulk) {
  if (!ended_ && transfers_.attach(std::move(bulk))) return {};
  return protocol_violation("a second connection for bulk data");
}

void WorkerSession::on_bulk_open() {
  if (dial_bulk_) transfers_.lane()->send(token_, {}, [](const Status&) {});
  has_bulk_ = true;
  become_ready();
}

void WorkerSession::become_ready() {
  operations_.open();
  send(wire::Ready{});
  watch_idleness();
}

void WorkerSession::watch_idleness() {
  const auto most = limits_.idle;
  const auto now = std::chrono::steady_clock::now();
  if (ended_ || most.count() == 0) return;
  if (queues_.outstanding() != 0) active_ = now;
  if (now - active_ >= most) {
    return close(EndCause::kIdle,
                 error(ErrorCode::kDeviceExhausted,
                       "the session has had nothing to do for {} ms, which is the limit", most.count()));
  }
  host_.transport().post_at(now + most / 8, [weak = weak_from_this()] {
    if (const auto session = weak.lock()) session->watch_idleness();
  });
}

void WorkerSession::close(EndCause cause, Error reason) {
  if (ended_ || closed_for_) return;
  closed_for_ = cause;
  if (frames_ != nullptr) frames_->close(std::move(reason));
}

// A client gets no record before Welcome.
void WorkerSession::announce_end() {
  if (!ended_ && greeted_) send(wire::Draining{});
}

// ---- Records --------------------------------------------------------------------------------------------------------

void WorkerSession::on_frame(ConstBytes frame) {
  if (ended_ || closed_for_) return;
  auto records = wire::read_from_client(frame);
  if (!records.ok()) return close(EndCause::kProtocol, std::move(records).error());
  if (held_frames_.empty() && are_open_for(*records)) return handle_frame(*records);
  if (held_frames_.size() == FrameLane::kCredits)
    return close(EndCause::kProtocol, protocol_violation("it sends more frames than it may"));
  frames_->withhold_credit();
  held_frames_.push_back(std::move(*records));
}

void WorkerSession::handle_frame(std::vector<wire::FromClient>& records) {
  for (wire::FromClient& record : records) {
    Status status = admit(record);
    if (status.ok()) status = std::visit([this](auto& value) { return dispatch(value); }, record);
    if (!status.ok()) return close(EndCause::kProtocol, std::move(status).error());
  }
  queues_.advance();
}

// Whether all devices that the records name are open. A device is opened when a client names it first, so that a
// session costs no more than what it uses.
bool WorkerSession::are_open_for(const std::vector<wire::FromClient>& records) {
  if (!greeted_ || !is_served_) return true;  // such records are refused
  bool are_open = true;
  for (const wire::FromClient& record : records) {
    const std::uint64_t number = std::visit(
        []<typename Record>(const Record& fields) {
          if constexpr (requires { fields.device; }) return fields.device;
          return ~std::uint64_t{0};
        },
        record);
    if (number >= devices_.size() || devices_[number].device != nullptr) continue;
    are_open = false;
    if (std::exchange(devices_[number].is_asked_for, true)) continue;
    post_task([this, number] {
      post_to_progress([this, number, opened = host_.open_device(number)] { on_device(number, opened); });
    });
  }
  return are_open;
}

void WorkerSession::on_device(std::uint64_t number, const Result<std::shared_ptr<Device>>& opened) {
  if (ended_) return;
  if (!opened.ok()) return close(EndCause::kDevices, opened.error());
  devices_[number].device = *opened;
  while (!held_frames_.empty() && !ended_ && !closed_for_ && are_open_for(held_frames_.front())) {
    handle_frame(held_frames_.front());
    held_frames_.pop_front();
    frames_->give_credits(1);
  }
}

// Whether the client may send the record in this state.
Status WorkerSession::admit(const wire::FromClient& record) {
  const bool is_greeting = std::holds_alternative<wire::Hello>(record);
  if (!greeted_ && !is_greeting) return protocol_violation("it does not begin with a greeting");
  if (place_ != 0 && !is_greeting) return protocol_violation("it does not wait until it is served");
  if (!std::holds_alternative<wire::Ping>(record)) active_ = std::chrono::steady_clock::now();
  return {};
}

template <typename Record>
Status WorkerSession::dispatch(Record& record) {
  if constexpr (requires { objects_.handle(record); }) {
    return objects_.handle(record);
  } else if constexpr (requires { code_.handle(record); }) {
    return code_.handle(record);
  } else if constexpr (requires { queues_.handle(record); }) {
    return queues_.handle(record);
  } else if constexpr (requires { operations_.handle(record); }) {
    return operations_.handle(record);
  } else {
    return handle(record);
  }
}

Status WorkerSession::handle(wire::Hello& record) {
  if (greeted_) return protocol_violation("it greets twice");
  greeted_ = true;
  log(LogLevel::kInfo, fmt::format("{} from {} (release {})", quoted_name(record.name), frames_->peer(),
                                   quoted_name(record.release)));
  host_.own_figures()->set_program(record.name);
  if (is_served_) welcome();
  if (place_ != 0) send(wire::Queued{place_});
  return {};
}

void WorkerSession::move_to(const SessionPlace& place) {
  if (ended_ || place_ == 0) return;
  place_ = place.number;
  if (place_ == 0) {
    log(LogLevel::kInfo, "is served");
    serve(place);
  } else if (greeted_) {
    send(wire::Queued{place_});
  }
}

void WorkerSession::welcome() {
  const WorkerOptions& options = host_.options();
  wire::Welcome welcome;
  welcome.name = options.name;
  welcome.release = options.release;
  welcome.token = token_;
  welcome.max_operations = limits_.operations;
  welcome.memory_quota = limits_.memory_bytes;
  welcome.module_quota = limits_.module_bytes;
  welcome.devices = host_.facts();
  send(welcome);
  // From now on the client knows the token that opens the other lane.
  if (dial_bulk_) dial_bulk_();
}

Status WorkerSession::handle(wire::Ping& record) {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  send(wire::Pong{record.number, static_cast<std::uint64_t>(std::chrono::nanoseconds(now).count())});
  return {};
}

void WorkerSession::on_run(ConstBytes header, std::uint64_t bytes) {
  if (!ended_) transfers_.on_run(header, bytes);
}

// ---- For the parts of the session -----------------------------------------------------------------------------------

Status WorkerSession::begin_request() {
  if (++requests_outstanding_ > kRequests) return protocol_violation("too many requests at once");
  return {};
}

void WorkerSession::reply(const wire::Reply& answer) {
  --requests_outstanding_;
  send(answer);
}

void WorkerSession::log(LogLevel level, std::string_view text) { host_.log(level, text); }

void WorkerSession::post_task(std::function<void()> task) {
  const Status posted = tasks_.post(std::move(task));
  if (!posted.ok() && !ended_) begin_end(cause_of(posted.error()), posted.error());
}

void WorkerSession::post_to_progress(std::function<void()> function) {
  host_.transport().post([session = shared_from_this(), function = std::move(function)] { function(); });
}

// ---- The end --------------------------------------------------------------------------------------------------------

void WorkerSession::on_look(std::chrono::milliseconds listened, std::chrono::milliseconds patience) {
  if (transfers_.lane() != nullptr && !bulk_closed_) transfers_.lane()->look(listened, patience);
}

void WorkerSession::on_closed(const Error& reason) {
  frames_closed_ = true;
  begin_end(cause_of(reason), reason);
}

// The reason for which the frame lane was closed, unless the session has closed it itself.
EndCause WorkerSession::cause_of(const Error& reason) const {
  if (closed_for_) return *closed_for_;
  if (frames_->was_left()) return EndCause::kLeft;
  return reason.code() == ErrorCode::kProtocol ? EndCause::kProtocol : EndCause::kLost;
}

void WorkerSession::on_bulk_closed(const Error& reason) {
  bulk_closed_ = true;
  begin_end(cause_of(reason), reason);
}

// Both lanes close together: only after that nothing accesses the session's memory any more.
void WorkerSession::begin_end(EndCause cause, const Error& reason) {
  const std::shared_ptr<BulkLane>& bulk = transfers_.lane();
  if (!ended_) {
    ended_ = reason;
    cause_ = cause;
    objects_.fail_semaphores(reason);
    if (!frames_closed_) frames_->close(reason);
    if (bulk != nullptr && !bulk_closed_) bulk->drop(reason);
  }
  if (frames_closed_ && (bulk == nullptr || bulk_closed_)) end();
}

void WorkerSession::end() {
  code_.log_launches();
  host_.on_client_gone(
      {cause_, *ended_, SessionEnd::Work{figures().jobs, figures().bytes_in, figures().bytes_out}});
  queues_.abandon(*ended_);
  transfers_.forget_all();
  run_aside([this] {
    post_to_progress([this] {
      queues_.clear();
      // Kernels and memory are freed after the queues that used them, all on the thread that may block.
      run_aside([this] {
        code_.clear();
        objects_.clear();
        transfers_.clear_staging();
        post_to_progress([this] { host_.on_session_ended(*ended_); });
      });
    });
  });
}

// Runs the task on the thread that may block, or on this one if the system refuses a thread.
void WorkerSession::run_aside(std::function<void()> task) {
  const auto held = std::make_shared<std::function<void()>>(std::move(task));
  if (!tasks_.post([held] { (*held)(); }).ok()) (*held)();
}

}  // namespace dhpvm::offload
