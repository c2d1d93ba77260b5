// SPDX-License-Identifier: Apache-2.0
#include "offload/remote/worker/session_watcher.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <optional>
#include <span>
#include <utility>

#include "base/cache_folder.h"
#include "base/error.h"
#include "base/one_line.h"

namespace dhpvm::offload {
namespace {

using Clock = std::chrono::steady_clock;

// The time for the first process until it can serve, because device drivers may start slowly.
constexpr std::chrono::seconds kStart{60};
// The time that a process gets, after it was told to close, to send its client the last messages; then it is killed.
constexpr std::chrono::seconds kGrace{1};
// The most messages read from a process before other processes have their turn.
constexpr int kMostMessages = 64;
// A short message costs as much as a message with so many bytes of code.
constexpr std::uint64_t kLeastMessage = 1024;
// The time for the client to read the last word.
constexpr std::chrono::milliseconds kLinger{200};

}  // namespace

std::string cache_folder(const std::string& caches, const std::string& client) {
  if (caches.empty()) return {};
  std::string folder = caches + "/clients/" + client;
  make_cache_folder(folder);
  return folder;
}

std::string folder_of(const SessionStart& start) {
  if (start.client_name.empty()) return start.key_name.empty() ? "anybody" : "key-" + start.key_name;
  std::string name = "client-";
  for (const char letter : start.client_name) {
    const bool is_plain =
        std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '-' || letter == '_';
    name += is_plain ? std::string(1, letter) : fmt::format("%{:02x}", static_cast<unsigned char>(letter));
  }
  return name;
}

SessionWatcher::~SessionWatcher() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  if (wake_.is_open()) static_cast<void>(eventfd_write(wake_.get(), 1));
  thread_.join();
  for (const auto& process : processes_) {
    kill(*process);
    static_cast<void>(how_it_ended(process->pid));
  }
}

void SessionWatcher::keep(SessionChild& process, const std::function<void(LastWord&)>& keep_in) {
  const std::lock_guard lock(mutex_);
  if (!process.is_gone) keep_in(process.last_word);
}

void SessionWatcher::kill(const SessionChild& process) {
  const std::lock_guard lock(mutex_);
  if (!process.is_gone) static_cast<void>(::kill(process.pid, SIGKILL));
}

Status SessionWatcher::start() {
  wake_ = Descriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake_.is_open()) return error(ErrorCode::kIo, "no descriptor to wait with: {}", std::strerror(errno));
  make_groups();
  DHPVM_TRY(probe());
  DHPVM_ASSIGN(std::shared_ptr<SessionChild> first, spawn_session_child(command_));
  processes_.push_back(std::move(first));
  return thread_.start_once("sessions", [this] { run(); });
}

// Called before there are processes, which would be in the worker's own group.
void SessionWatcher::make_groups() {
  auto groups = make_control_groups(own_control_group());
  std::string why;
  if (groups.ok()) {
    groups_ = std::move(groups).value();
  } else {
    groups_ = make_process_limits();
    why = fmt::format(" (there are no control groups: {})", one_line(groups.error()));
  }
  log_({LogLevel::kInfo, 0, fmt::format("limits of sessions: {}{}", groups_->limits(), why), {}});
}

Status SessionWatcher::probe() {
  const std::string caches = cache_folder(caches_, "worker");
  DHPVM_ASSIGN(const std::shared_ptr<SessionChild> process, spawn_session_child(command_));
  const Clock::time_point deadline = Clock::now() + kStart;
  static_cast<void>(process->control.send(control::Probe{caches}, control::Patience::kNone));
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd ready{process->control.descriptor(), POLLIN, 0};
    if (left <= 0 || poll(&ready, 1, static_cast<int>(left)) <= 0) {
      kill(*process);
      static_cast<void>(how_it_ended(process->pid));
      return error(ErrorCode::kDeviceFailed, "the devices could not be opened within {} s", kStart.count());
    }
    auto word = process->control.receive_from_session(control::Patience::kNone);
    if (!word.ok()) break;
    if (!*word) continue;
    handle(*process, **word);
    if (const auto* const serving = std::get_if<control::Serving>(&**word);
        serving != nullptr && !serving->rights.empty())
      warn("the processes of sessions keep these rights: " +
           printable(serving->rights, control::kLongestText));
    if (auto* const lends = std::get_if<control::Lends>(&**word);
        lends != nullptr && devices_.size() < wire::kMaxDevices)
      devices_.push_back(std::move(lends->device));
  }
  const ClientGone end = how_it_ended(process->pid);
  if (process->gone) return process->gone->reason;
  if (devices_.empty()) return end.reason;
  return {};
}

// ---- For the sessions -----------------------------------------------------------------------------------------------

Result<std::shared_ptr<SessionChild>> SessionWatcher::assign(const SessionStart& start) {
  const std::lock_guard lock(mutex_);
  const auto spare = std::ranges::find_if(
      processes_, [](const auto& process) { return !process->session && !process->kill_at; });
  std::shared_ptr<SessionChild> process = spare == processes_.end() ? nullptr : *spare;
  if (process == nullptr) {
    DHPVM_ASSIGN(process, spawn_session_child(command_));
    processes_.push_back(process);
  }
  process->session = start;
  if (const Status limited = groups_->enter(start.number, process->pid, folder_of(start), start.priority);
      !limited.ok())
    warn("a session has no limits of the system: " + one_line(limited.error()));
  wants_spare_ = true;
  static_cast<void>(eventfd_write(wake_.get(), 1));
  return process;
}

void SessionWatcher::limit(std::uint64_t session, const SessionPlace& place) {
  const std::lock_guard lock(mutex_);
  const Status limited = groups_->limit_memory(session, std::min(memory_bytes_, place.memory_bytes));
  if (!limited.ok()) warn("a session has no limit of memory by the system: " + one_line(limited.error()));
}

void SessionWatcher::close(SessionChild& process, EndCause cause, const Error& reason) {
  control::Close record;
  record.cause = cause;
  record.code = static_cast<std::uint64_t>(reason.code());
  record.message = one_line(reason);
  const bool is_told = process.control.send(std::move(record), control::Patience::kNone).ok();
  {
    const std::lock_guard lock(mutex_);
    process.close_reason = ClientGone{cause, reason, {}};
    if (!process.kill_at) process.kill_at = Clock::now() + (is_told ? kGrace : std::chrono::seconds(0));
  }
  static_cast<void>(eventfd_write(wake_.get(), 1));
}

// ---- The watching thread --------------------------------------------------------------------------------------------

std::list<std::shared_ptr<SessionChild>> SessionWatcher::processes() {
  const std::lock_guard lock(mutex_);
  return processes_;
}

void SessionWatcher::run() {
  for (;;) {
    wait();
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) return;
    }
    for (const auto& process : processes()) {
      take_code(*process);  // the last messages before its end, too
      listen_to(process);
    }
    spawn_spare();
  }
}

// Waits until a process has sent something or is to be killed, or something has changed.
void SessionWatcher::wait() {
  std::vector<pollfd> ready{{wake_.get(), POLLIN, 0}};
  Clock::time_point next = Clock::time_point::max();
  const Clock::time_point now = Clock::now();
  {
    const std::lock_guard lock(mutex_);
    for (const auto& process : processes_) {
      ready.push_back({process->control.descriptor(), POLLIN, 0});
      if (process->code_left != 0) ready.push_back({process->code.get(), POLLIN, 0});
      if (!process->kill_at) continue;
      if (*process->kill_at <= now) {
        static_cast<void>(::kill(process->pid, SIGKILL));
      } else {
        next = std::min(next, *process->kill_at);
      }
    }
  }
  int timeout = -1;
  if (next != Clock::time_point::max()) {
    timeout = static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(next - now).count());
  }
  static_cast<void>(poll(ready.data(), ready.size(), timeout));
  eventfd_t value;
  static_cast<void>(eventfd_read(wake_.get(), &value));
}

// If it cannot be started, the next session tries again, and gets the reason.
void SessionWatcher::spawn_spare() {
  {
    const std::lock_guard lock(mutex_);
    if (!std::exchange(wants_spare_, false)) return;
    const bool has_spare = std::ranges::any_of(
        processes_, [](const auto& process) { return !process->session && !process->kill_at; });
    if (has_spare) return;
  }
  auto spawned = spawn_session_child(command_);
  if (!spawned.ok()) return warn(one_line(spawned.error()));
  const std::lock_guard lock(mutex_);
  processes_.push_back(std::move(spawned).value());
}

void SessionWatcher::listen_to(const std::shared_ptr<SessionChild>& process) {
  for (int messages = 0; messages < kMostMessages; ++messages) {
    auto record = process->control.receive_from_session(control::Patience::kNone);
    if (!record.ok()) {
      if (record.error().code() == ErrorCode::kProtocol)
        process->gone = {EndCause::kCrashed, record.error(), {}};
      return finish(process);
    }
    if (!*record) return;
    handle(*process, **record);
  }
}

// A process that sends more code gets an error. Taking what is queued wakes a sender that waits for room.
void SessionWatcher::refuse_code(const SessionChild& process) {
  static_cast<void>(shutdown(process.code.get(), SHUT_RD));
  std::byte byte{};
  while (recv(process.code.get(), &byte, 1, MSG_DONTWAIT | MSG_TRUNC) > 0) {
  }
}

void SessionWatcher::take_code(SessionChild& process) {
  std::string folder;
  std::array<std::byte, codegen::kLongestCodeMessage> message;
  for (int messages = 0; messages < kMostMessages && process.code_left != 0; ++messages) {
    const ssize_t size = recv(process.code.get(), message.data(), message.size(), MSG_DONTWAIT | MSG_TRUNC);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
    process.code_left -= std::min(process.code_left, std::max<std::uint64_t>(kLeastMessage, size));
    if (size <= 0) process.code_left = 0;
    if (process.code_left == 0) refuse_code(process);
    if (size <= 0 || static_cast<std::size_t>(size) > message.size()) continue;
    if (folder.empty()) {
      const std::lock_guard lock(mutex_);
      if (!process.session) continue;
      folder = cache_folder(caches_, folder_of(*process.session));
      if (folder.empty()) continue;
    }
    keeper_.take(process.arriving, folder, std::span(message).first(static_cast<std::size_t>(size)),
                 Clock::now());
  }
}

void SessionWatcher::handle(SessionChild& process, const control::FromSession& record) {
  if (const auto* const unable = std::get_if<control::Unable>(&record)) {
    const std::uint64_t code = std::min(unable->code, static_cast<std::uint64_t>(kLastErrorCode));
    process.gone = {EndCause::kCrashed,
                    Error(static_cast<ErrorCode>(code), printable(unable->message, control::kLongestText)),
                    {}};
  } else if (const auto* const line = std::get_if<control::LogLine>(&record)) {
    log(process, line->level, line->text);
  } else if (const auto* const ended = std::get_if<control::Ended>(&record)) {
    process.gone = {ended->cause,
                    Error(ErrorCode::kDeviceLost, printable(ended->reason, control::kLongestText)),
                    ended->work};
  } else if (std::holds_alternative<control::DialBulk>(record)) {
    const std::lock_guard lock(mutex_);
    if (process.session && process.session->dial_bulk) transport_.post(process.session->dial_bulk);
  }
}

void SessionWatcher::log(SessionChild& process, LogLevel level, std::string_view text) {
  std::uint64_t number;
  {
    const std::lock_guard lock(mutex_);
    if (!process.session) return;
    number = process.session->number;
  }
  const bool has_room = process.budget.take(LogBudget::Clock::now());
  if (const unsigned others = process.budget.take_left_out(); others != 0)
    log_({LogLevel::kWarning, number, fmt::format("{} lines are left out", others), {}});
  if (has_room) log_({level, number, printable(text, control::kLongestText), {}});
}

// The process has ended, or has sent an invalid message.
void SessionWatcher::finish(const std::shared_ptr<SessionChild>& process) {
  kill(*process);
  std::optional<SessionStart> session;
  {
    const std::lock_guard lock(mutex_);
    process->is_gone = true;
    processes_.remove(process);
    session = std::exchange(process->session, std::nullopt);
  }
  const ClientGone end = how_it_ended(process->pid);
  if (session) {
    const std::lock_guard lock(mutex_);
    groups_->leave(session->number);
  }
  if (!process->gone) {
    process->gone = process->close_reason.value_or(end);
    process->last_word.say(process->gone->reason);
    const auto word = std::make_shared<LastWord>(std::move(process->last_word));
    transport_.post_at(Clock::now() + kLinger, [word] {});
  }
  const SessionFigures& figures = *process->figures.figures();
  if (!process->gone->work)
    process->gone->work = SessionEnd::Work{figures.jobs, figures.bytes_in, figures.bytes_out};
  if (!session) return warn("a process that waited for a session: " + one_line(process->gone->reason));
  // The line is logged before the next session can begin.
  transport_.post([session = std::move(*session), log = log_, gone = *process->gone] {
    log_end(log, session, gone);
    session.ended(gone);
  });
}

}  // namespace dhpvm::offload
