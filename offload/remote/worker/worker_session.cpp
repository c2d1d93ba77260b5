// SPDX-License-Identifier: Apache-2.0
#include "offload/remote/worker/worker_session.h"

#include <algorithm>
#include <utility>

#include "base/one_line.h"

namespace dhpvm::offload {

WorkerSession::WorkerSession(SessionHost& host, wire::Token token, std::function<void()> dial_bulk)
    : host_(host), token_(token), dial_bulk_(std::move(dial_bulk)) {}

WorkerSession::~WorkerSession() = default;

std::shared_ptr<FrameLane> WorkerSession::attach(const std::shared_ptr<Channel>& channel) {
  const WorkerOptions& options = host_.options();
  frames_ = std::make_shared<FrameLane>(channel, shared_from_this(),
                                        FrameLaneOptions{options.silence_deadline, kMostWaiting});
  host_.transport().post_at(
      Transport::Clock::now() + options.handshake_deadline,
      [weak = weak_from_this(), deadline = options.handshake_deadline] {
        const auto late = weak.lock();
        if (late == nullptr || late->is_ready_) return;
        late->close(error(ErrorCode::kDeviceLost, "the client has not opened its second connection for {} ms",
                          deadline.count()));
      });
  return frames_;
}

Status WorkerSession::attach_bulk(std::shared_ptr<BulkLane> bulk) {
  if (!ended_ && transfers_.attach(std::move(bulk))) return {};
  return protocol_violation("a second connection for bulk data");
}

void WorkerSession::on_bulk_open() {
  if (dial_bulk_) transfers_.lane()->send(token_, {}, [](const Status&) {});
  is_ready_ = true;
  operations_.open();
  send(wire::Ready{});
}

void WorkerSession::close(Error reason) {
  if (ended_) return;
  if (frames_ != nullptr) frames_->close(std::move(reason));
}

// A client gets no record before its welcome.
void WorkerSession::announce_end() {
  if (!ended_ && greeted_) send(wire::Draining{});
}

// ---- Records --------------------------------------------------------------------------------------------------------

void WorkerSession::on_frame(ConstBytes frame) {
  if (ended_) return;
  auto records = wire::read_from_client(frame);
  if (!records.ok()) return close(std::move(records).error());
  for (wire::FromClient& record : *records) {
    Status status;
    if (!greeted_ && !std::holds_alternative<wire::Hello>(record)) {
      status = protocol_violation("it does not begin with a greeting");
    } else {
      status = std::visit([this](auto& value) { return dispatch(value); }, record);
    }
    if (!status.ok()) return close(std::move(status).error());
  }
  queues_.advance();
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
  log(fmt::format("{} from {} (release {})", quoted(record.name), frames_->peer(), quoted(record.release)));
  const WorkerOptions& options = host_.options();
  wire::Welcome welcome;
  welcome.name = options.name;
  welcome.release = options.release;
  welcome.token = token_;
  welcome.max_operations = options.limits.operations;
  welcome.memory_quota = options.limits.memory_bytes;
  welcome.module_quota = options.limits.module_bytes;
  for (const std::shared_ptr<Device>& device : host_.devices()) {
    const DeviceInfo& info = device->info();
    welcome.devices.push_back({info.name, info.description, info.memory_bytes, info.largest_allocation,
                               info.compute_units, info.is_gpu, info.is_simulated});
  }
  send(welcome);
  // Only now the client knows the token that opens the other lane.
  if (dial_bulk_) dial_bulk_();
  return {};
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

void WorkerSession::log(std::string_view text) { host_.log(text); }

void WorkerSession::post_to_progress(std::function<void()> function) {
  host_.transport().post([session = shared_from_this(), function = std::move(function)] { function(); });
}

// ---- The end --------------------------------------------------------------------------------------------------------

void WorkerSession::on_closed(const Error& reason) {
  frames_closed_ = true;
  begin_end(reason);
}

void WorkerSession::on_bulk_closed(const Error& reason) {
  bulk_closed_ = true;
  begin_end(reason);
}

// Both lanes close together: only then nothing accesses the session's memory any more.
void WorkerSession::begin_end(const Error& reason) {
  const std::shared_ptr<BulkLane>& bulk = transfers_.lane();
  if (!ended_) {
    ended_ = reason;
    objects_.fail_semaphores(reason);
    if (!frames_closed_) frames_->close(reason);
    if (bulk != nullptr && !bulk_closed_) bulk->drop(reason);
  }
  if (frames_closed_ && (bulk == nullptr || bulk_closed_)) end();
}

void WorkerSession::end() {
  code_.log_launches();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
  host_.on_client_gone(
      fmt::format("ended after {:.1f} s, {} jobs, {} bytes in, {} bytes out: {}", seconds,
                  operations_.launches(), transfers_.bytes_in(), transfers_.bytes_out(), ended_->message()),
      *ended_);
  queues_.abandon(*ended_);
  transfers_.forget_all();
  tasks_.post([this] {
    post_to_progress([this] {
      queues_.clear();
      // Kernels and memory after the queues that used them, all on the thread that may block.
      tasks_.post([this] {
        code_.clear();
        objects_.clear();
        transfers_.clear_staging();
        post_to_progress([this] { host_.on_session_ended(*ended_); });
      });
    });
  });
}

}  // namespace dhpvm::offload
