// SPDX-License-Identifier: Apache-2.0
#include "offload/remote/worker/session_processes.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <list>
#include <mutex>
#include <optional>
#include <utility>

#include "base/cache_folder.h"
#include "base/descriptor.h"
#include "base/error.h"
#include "base/one_line.h"
#include "base/thread.h"
#include "offload/remote/fabric/last_word.h"
#include "offload/remote/worker/log_budget.h"
#include "offload/remote/worker/session_control.h"
#include "offload/remote/worker/session_end.h"
#include "offload/remote/worker/session_groups.h"

namespace dhpvm::offload {
namespace {

using Clock = std::chrono::steady_clock;

// The time for the first process until it can serve: drivers of devices are slow to start.
constexpr std::chrono::seconds kStart{60};
// The time that a process that was told to close has for its client's last words, before it is killed.
constexpr std::chrono::seconds kGrace{1};
// The time for a client to read the last word.
constexpr std::chrono::milliseconds kLinger{200};
// Lines of the log in a second that a session may write.
constexpr unsigned kMostLines = 50;

// A process of its own for one session.
struct Process {
  Process(control::Socket socket, SharedFigures shared, pid_t id)
      : control(std::move(socket)), figures(std::move(shared)), pid(id) {}

  const control::Socket control;
  const SharedFigures figures;
  const pid_t pid;
  // The following under the mutex of the watcher.
  std::optional<SessionStart> session;  // none yet: the process waits for one
  std::optional<Clock::time_point> kill_at;
  std::optional<ClientGone> close_reason;
  LastWord last_word;
  bool is_gone = false;  // its number may be another process's
  // For the watching thread alone.
  std::optional<ClientGone> gone;  // why it ends, in its own words
  LogBudget budget{kMostLines};
};

Result<std::shared_ptr<Process>> spawn(const std::vector<std::string>& command) {
  DHPVM_ASSIGN(auto ends, control::Socket::create_pair());
  DHPVM_ASSIGN(SharedFigures figures, SharedFigures::create());
  // Neither may be where the other one is to go.
  const Descriptor socket(fcntl(ends.second.descriptor(), F_DUPFD_CLOEXEC, kSessionFigures + 1));
  const Descriptor memory(fcntl(figures.descriptor(), F_DUPFD_CLOEXEC, kSessionFigures + 1));
  if (!socket.is_open() || !memory.is_open())
    return error(ErrorCode::kIo, "no descriptor for the process of a session: {}", std::strerror(errno));
  std::string name = "dhpvm-session";  // for lists of processes
  std::vector<char*> words{name.data()};
  for (std::size_t i = 1; i < command.size(); ++i) words.push_back(const_cast<char*>(command[i].c_str()));
  words.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, socket.get(), kSessionSocket);
  posix_spawn_file_actions_adddup2(&files, memory.get(), kSessionFigures);
  posix_spawn_file_actions_addclosefrom_np(&files, kSessionFigures + 1);
  pid_t pid = 0;
  const int code = posix_spawn(&pid, command.front().c_str(), &files, nullptr, words.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  if (code != 0) {
    return error(ErrorCode::kIo, "no process for a session could be started: {}", std::strerror(code));
  }
  return std::make_shared<Process>(std::move(ends.first), std::move(figures), pid);
}

// Says how a process has ended that has not said it itself. Waits for its end.
ClientGone how_it_ended(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    return {signal == SIGKILL ? EndCause::kKilled : EndCause::kCrashed,
            error(ErrorCode::kDeviceLost, "the process of the session was ended by signal {} ({})", signal,
                  strsignal(signal)),
            {}};
  }
  return {EndCause::kCrashed,
          error(ErrorCode::kDeviceLost, "the process of the session has ended with exit code {}",
                WEXITSTATUS(status)),
          {}};
}

// That of a client beneath `caches`, made now; empty: none. The name is one that has been checked.
std::string cache_folder(const std::string& caches, const std::string& client) {
  if (caches.empty()) return {};
  std::string folder = caches + "/clients/" + client;
  make_cache_folder(folder);
  return folder;
}

// By the client's name, or else by its key. Names in certificates may have any letters: the result is never a path.
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

// Owns the processes, and listens to them on a thread of its own.
class Watcher {
 public:
  Watcher(Transport& transport, SessionProcessesOptions options)
      : transport_(transport),
        command_(std::move(options.command)),
        caches_(std::move(options.caches)),
        memory_bytes_(options.memory_bytes),
        log_(std::move(options.log)) {}
  ~Watcher();

  // Starts a process that opens the devices, and waits until it has; then one that waits.
  Status start();
  const std::vector<wire::Device>& devices() const { return devices_; }
  const std::string& caches() const { return caches_; }
  // A process for the session, which is its own from now on.
  Result<std::shared_ptr<Process>> assign(const SessionStart& start);
  void close(Process& process, EndCause cause, const Error& reason);
  void kill(const Process& process);
  // The session is served from now on.
  void limit(std::uint64_t session, const SessionPlace& place);
  // Keeps copies of the client's sockets for the last word.
  void keep(Process& process, const std::function<void(LastWord&)>& keep_in);

 private:
  void run();
  void wait();
  void spawn_spare();
  void listen_to(const std::shared_ptr<Process>& process);
  void handle(Process& process, const control::FromSession& record);
  void finish(const std::shared_ptr<Process>& process);
  void log(Process& process, LogLevel level, std::string_view text);
  void warn(std::string text) const { log_({LogLevel::kWarning, 0, std::move(text), {}}); }
  std::list<std::shared_ptr<Process>> processes();

  Status probe();
  void make_groups();

  Transport& transport_;
  const std::vector<std::string> command_;
  const std::string caches_;
  const std::uint64_t memory_bytes_;
  const WorkerLog log_;
  std::vector<wire::Device> devices_;  // since start()
  Descriptor wake_;
  std::mutex mutex_;
  std::unique_ptr<SessionGroups> groups_;
  bool stopping_ = false;
  bool wants_spare_ = false;
  std::list<std::shared_ptr<Process>> processes_;
  Thread thread_;
};

Watcher::~Watcher() {
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

void Watcher::keep(Process& process, const std::function<void(LastWord&)>& keep_in) {
  const std::lock_guard lock(mutex_);
  if (!process.is_gone) keep_in(process.last_word);
}

void Watcher::kill(const Process& process) {
  const std::lock_guard lock(mutex_);
  if (!process.is_gone) static_cast<void>(::kill(process.pid, SIGKILL));
}

Status Watcher::start() {
  wake_ = Descriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake_.is_open()) return error(ErrorCode::kIo, "no descriptor to wait with: {}", std::strerror(errno));
  make_groups();
  DHPVM_TRY(probe());
  DHPVM_ASSIGN(std::shared_ptr<Process> first, spawn(command_));
  processes_.push_back(std::move(first));
  return thread_.start_once("sessions", [this] { run(); });
}

// Before there are processes, which then are in the worker's own group.
void Watcher::make_groups() {
  auto groups = make_control_groups(own_control_group());
  if (groups.ok()) {
    groups_ = std::move(groups).value();
    return log_(
        {LogLevel::kInfo, 0, "sessions have control groups: processors are shared between clients", {}});
  }
  groups_ = make_process_limits();
  log_(
      {LogLevel::kInfo,
       0,
       "sessions have limits of processes only, for there are no control groups: " + one_line(groups.error()),
       {}});
}

Status Watcher::probe() {
  const std::string caches = cache_folder(caches_, "worker");
  DHPVM_ASSIGN(const std::shared_ptr<Process> process, spawn(command_));
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

Result<std::shared_ptr<Process>> Watcher::assign(const SessionStart& start) {
  const std::lock_guard lock(mutex_);
  const auto spare = std::ranges::find_if(
      processes_, [](const auto& process) { return !process->session && !process->kill_at; });
  std::shared_ptr<Process> process = spare == processes_.end() ? nullptr : *spare;
  if (process == nullptr) {
    DHPVM_ASSIGN(process, spawn(command_));
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

void Watcher::limit(std::uint64_t session, const SessionPlace& place) {
  const std::lock_guard lock(mutex_);
  const Status limited = groups_->limit_memory(session, std::min(memory_bytes_, place.memory_bytes));
  if (!limited.ok()) warn("a session has no limit of memory by the system: " + one_line(limited.error()));
}

void Watcher::close(Process& process, EndCause cause, const Error& reason) {
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

std::list<std::shared_ptr<Process>> Watcher::processes() {
  const std::lock_guard lock(mutex_);
  return processes_;
}

void Watcher::run() {
  for (;;) {
    wait();
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) return;
    }
    for (const auto& process : processes()) listen_to(process);
    spawn_spare();
  }
}

// Until a process has said something or is to be killed, or something has changed.
void Watcher::wait() {
  std::vector<pollfd> ready{{wake_.get(), POLLIN, 0}};
  Clock::time_point next = Clock::time_point::max();
  const Clock::time_point now = Clock::now();
  {
    const std::lock_guard lock(mutex_);
    for (const auto& process : processes_) {
      ready.push_back({process->control.descriptor(), POLLIN, 0});
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

// One that cannot be started is tried again with the next session, which is told why.
void Watcher::spawn_spare() {
  {
    const std::lock_guard lock(mutex_);
    if (!std::exchange(wants_spare_, false)) return;
    const bool has_spare = std::ranges::any_of(
        processes_, [](const auto& process) { return !process->session && !process->kill_at; });
    if (has_spare) return;
  }
  auto spawned = spawn(command_);
  if (!spawned.ok()) return warn(one_line(spawned.error()));
  const std::lock_guard lock(mutex_);
  processes_.push_back(std::move(spawned).value());
}

void Watcher::listen_to(const std::shared_ptr<Process>& process) {
  for (;;) {
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

void Watcher::handle(Process& process, const control::FromSession& record) {
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

void Watcher::log(Process& process, LogLevel level, std::string_view text) {
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

// The process has ended, or talks nonsense.
void Watcher::finish(const std::shared_ptr<Process>& process) {
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
  // The line is written when the next session may begin.
  transport_.post([session = std::move(*session), log = log_, gone = *process->gone] {
    log_end(log, session, gone);
    session.ended(gone);
  });
}

// ---- The interface --------------------------------------------------------------------------------------------------

class ProcessSession final : public SessionHandle {
 public:
  ProcessSession(Watcher& watcher, std::shared_ptr<Process> process, const SessionStart& start)
      : watcher_(watcher),
        process_(std::move(process)),
        number_(start.number),
        token_(start.token),
        place_(start.place),
        caches_(cache_folder(watcher.caches(), folder_of(start))),
        dials_client_(start.dial_bulk != nullptr) {}

  Result<std::shared_ptr<Lane>> take_frames(const std::shared_ptr<Channel>& channel) override {
    DHPVM_ASSIGN(DetachedChannel detached, detach(*channel));
    watcher_.keep(*process_, [&](LastWord& word) { word.keep_frames(detached); });
    if (place_.number == 0) watcher_.limit(number_, place_);
    control::Begin record;
    record.number = number_;
    record.token = token_;
    record.place = place_;
    record.dials_client = dials_client_;
    record.caches = caches_;
    record.frames = std::move(detached);
    return send(std::move(record));
  }
  Result<std::shared_ptr<BulkHandler>> take_bulk(const std::shared_ptr<BulkLane>& lane) override {
    DHPVM_TRY(take_second(lane->channel()));
    return std::shared_ptr<BulkHandler>();
  }
  Result<std::shared_ptr<Lane>> take_dialled_bulk(const std::shared_ptr<Channel>& channel) override {
    return take_second(*channel);
  }
  void move_to(const SessionPlace& place) override {
    if (place.number == 0) watcher_.limit(number_, place);
    if (!process_->control.send(control::Move{place}, control::Patience::kNone).ok())
      watcher_.kill(*process_);
  }
  void announce_end() override {
    if (!process_->control.send(control::AnnounceEnd{}, control::Patience::kNone).ok())
      watcher_.kill(*process_);
  }
  void close(EndCause cause, const Error& reason) override { watcher_.close(*process_, cause, reason); }
  const SessionFigures& figures() const override { return *process_->figures.figures(); }

 private:
  Result<DetachedChannel> detach(Channel& channel) {
    if (auto detached = channel.detach()) return std::move(*detached);
    const Error reason(ErrorCode::kProtocol, "the client says more than it may before its session begins");
    watcher_.close(*process_, EndCause::kProtocol, reason);
    return reason;
  }
  Result<std::shared_ptr<Lane>> take_second(Channel& channel) {
    if (std::exchange(has_bulk_, true))
      return error(ErrorCode::kProtocol, "a second connection for bulk data");
    DHPVM_ASSIGN(DetachedChannel detached, detach(channel));
    watcher_.keep(*process_, [&](LastWord& word) { word.keep_bulk(detached); });
    return send(control::TakeBulk{std::move(detached)});
  }
  // A process that does not listen is ended; the worker hears of that as of any end.
  Result<std::shared_ptr<Lane>> send(control::ToSession record) {
    if (!process_->control.send(std::move(record), control::Patience::kNone).ok()) watcher_.kill(*process_);
    return std::shared_ptr<Lane>();
  }

  Watcher& watcher_;
  const std::shared_ptr<Process> process_;
  const std::uint64_t number_;
  const wire::Token token_;
  const SessionPlace place_;  // at the beginning
  const std::string caches_;
  const bool dials_client_;
  bool has_bulk_ = false;
};

class SessionProcesses final : public SessionRunner {
 public:
  explicit SessionProcesses(std::unique_ptr<Watcher> watcher) : watcher_(std::move(watcher)) {}
  Result<std::shared_ptr<SessionHandle>> begin(SessionStart start) override {
    DHPVM_ASSIGN(std::shared_ptr<Process> process, watcher_->assign(start));
    return std::shared_ptr<SessionHandle>(
        std::make_shared<ProcessSession>(*watcher_, std::move(process), start));
  }
  const std::vector<wire::Device>& devices() const override { return watcher_->devices(); }

 private:
  const std::unique_ptr<Watcher> watcher_;
};

}  // namespace

Result<std::unique_ptr<SessionRunner>> start_session_processes(Transport& transport,
                                                               SessionProcessesOptions options) {
  auto watcher = std::make_unique<Watcher>(transport, std::move(options));
  DHPVM_TRY(watcher->start());
  return std::unique_ptr<SessionRunner>(std::make_unique<SessionProcesses>(std::move(watcher)));
}

}  // namespace dhpvm::offload
