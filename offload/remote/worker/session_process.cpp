// SPDX-License-Identifier: Apache-2.0
#include "offload/remote/worker/session_process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/cache_folder.h"
#include "base/error.h"
#include "base/one_line.h"
#include "base/thread.h"
#include "codegen/cached/code_writer.h"
#include "offload/remote/worker/session_host.h"
#include "offload/remote/worker/session_processes.h"
#include "offload/remote/worker/session_rights.h"
#include "offload/remote/worker/worker_session.h"

namespace dhpvm::offload {
namespace {

class ServedSession final : private SessionHost {
 public:
  ServedSession(const control::Socket& control, const std::shared_ptr<SessionFigures>& figures,
                std::vector<wire::Device> facts, Fabric& fabric, Transport& transport,
                SessionProcess::OpenDevice open_device, WorkerOptions options)
      : control_(control),
        figures_(figures),
        facts_(std::move(facts)),
        fabric_(fabric),
        transport_(transport),
        open_device_(std::move(open_device)),
        options_(std::move(options)) {}

  [[noreturn]] void serve(control::Begin& begin);

 private:
  const WorkerOptions& options() const override { return options_; }
  const std::vector<wire::Device>& facts() const override { return facts_; }
  void prepare() override;
  Result<std::shared_ptr<Device>> open_device(std::uint64_t number) override;
  const std::shared_ptr<SessionFigures>& own_figures() const override { return figures_; }
  Fabric& fabric() override { return fabric_; }
  Transport& transport() override { return transport_; }
  void log(LogLevel level, std::string_view text) override {
    tell(control::LogLine{level, std::string(text)});
  }
  // The system ends kernels that still run, and frees memory and files.
  [[noreturn]] void on_client_gone(const ClientGone& gone) override { end(gone); }
  [[noreturn]] void on_session_ended(const Error& reason) override { end({EndCause::kLost, reason, {}}); }

  void tell(const control::FromSession& record) const;
  [[noreturn]] void end(const ClientGone& gone) const;
  SealPair seals_of(DetachedChannel& channel);
  void handle(control::Begin& record);
  void handle(control::TakeBulk& record);
  void handle(control::Move& record);
  void handle(control::AnnounceEnd& record);
  void handle(control::Close& record);
  void handle(control::Probe&) {}
  void handle(control::Offer&) {}

  const control::Socket& control_;
  const std::shared_ptr<SessionFigures> figures_;
  const std::vector<wire::Device> facts_;
  Fabric& fabric_;
  Transport& transport_;
  const SessionProcess::OpenDevice open_device_;
  const WorkerOptions options_;
  bool dials_client_ = false;
  std::shared_ptr<WorkerSession> session_;
  Thread compiler_;  // loads it
};

// Loads the compiler while the client opens its second connection: the first kernel finds it there.
void ServedSession::prepare() {
  static_cast<void>(compiler_.start_once("compiler", [generator = options_.generator] {
    if (generator) static_cast<void>(generator());
  }));
}

Result<std::shared_ptr<Device>> ServedSession::open_device(std::uint64_t number) {
  const std::string& name = facts_[number].name;
  auto opened = open_device_(number, name);
  if (opened.ok() && (*opened)->info().name == name) return opened;
  Error failure =
      error(ErrorCode::kDeviceFailed, "device '{}' of the worker cannot be opened any more", name);
  return opened.ok() ? failure : std::move(opened).error().with_context(failure.message());
}

// Without the worker, nobody could receive a report.
void ServedSession::tell(const control::FromSession& record) const {
  if (!control_.send(record, control::Patience::kForever).ok()) _exit(1);
}

void ServedSession::end(const ClientGone& gone) const {
  tell(control::Ended{gone.cause, one_line(gone.reason), gone.work.value_or(SessionEnd::Work{})});
  _exit(0);
}

void ServedSession::serve(control::Begin& begin) {
  handle(begin);
  for (;;) {
    auto record = control_.receive_to_session(control::Patience::kForever);
    if (!record.ok()) _exit(1);
    std::visit([this](auto& fields) { handle(fields); }, **record);
  }
}

SealPair ServedSession::seals_of(DetachedChannel& channel) {
  if (!channel.seals) return {};
  SealPair seals = fabric_.resume(*channel.seals);
  channel.seals.reset();
  return seals;
}

void ServedSession::handle(control::Begin& record) {
  dials_client_ = record.dials_client;
  std::function<void()> dial_bulk;
  if (dials_client_) dial_bulk = [this] { tell(control::DialBulk{}); };
  session_ = std::make_shared<WorkerSession>(static_cast<SessionHost&>(*this), record.token, record.place,
                                             dial_bulk);
  SealPair seals = seals_of(record.frames);
  Channel::adopt(
      transport_, std::move(record.frames), std::move(seals), LaneKind::kFrames,
      [this](const std::shared_ptr<Channel>& channel, LaneKind) -> std::shared_ptr<Lane> {
        return session_->attach(channel);
      },
      [this](const Error& reason) { end({EndCause::kLost, reason, {}}); });
}

void ServedSession::handle(control::TakeBulk& record) {
  if (session_ == nullptr) return;
  // If the client has dialled, the worker has received the token already.
  const std::uint64_t messages = dials_client_ ? 0 : 1;
  SealPair seals = seals_of(record.bulk);
  Channel::adopt(
      transport_, std::move(record.bulk), std::move(seals), LaneKind::kBulk,
      [this, messages](const std::shared_ptr<Channel>& channel, LaneKind) -> std::shared_ptr<Lane> {
        auto lane = std::make_shared<BulkLane>(channel, session_, messages);
        return session_->attach_bulk(lane).ok() ? lane : nullptr;
      },
      [this](const Error& reason) { session_->close(EndCause::kLost, reason); });
}

void ServedSession::handle(control::Move& record) {
  transport_.post([this, place = record.place] {
    if (session_ != nullptr) session_->move_to(place);
  });
}

void ServedSession::handle(control::AnnounceEnd&) {
  transport_.post([this] {
    if (session_ != nullptr) session_->announce_end();
  });
}

void ServedSession::handle(control::Close& record) {
  if (session_ == nullptr) _exit(0);
  const auto code = static_cast<ErrorCode>(
      std::min<std::uint64_t>(record.code, static_cast<std::uint64_t>(kLastErrorCode)));
  transport_.post(
      [this, cause = record.cause, reason = Error(code, record.message)] { session_->close(cause, reason); });
}

// Code compiled for a client stays in the client's own folder, so that no client runs another one's code. The worker
// writes that folder; only drivers write to it directly.
Status prepare_caches(const std::string& folder) {
  setenv(codegen::kCodeWriterVariable, std::to_string(kSessionCode).c_str(), 1);
  if (folder.empty()) return keep_changes_to({});
  std::vector<std::string> places;
  // Caches of drivers.
  for (const auto& [name, part] :
       {std::pair("XDG_CACHE_HOME", "/drivers"), std::pair("POCL_CACHE_DIR", "/pocl"),
        std::pair("CUDA_CACHE_PATH", "/cuda")}) {
    const std::string place = folder + part;
    make_cache_folder(place);
    setenv(name, place.c_str(), 1);
    places.push_back(place);
  }
  return keep_changes_to(places);
}

}  // namespace

Result<SessionProcess> SessionProcess::create() {
  control::Socket control{Descriptor(kSessionSocket)};
  int kind = 0;
  socklen_t size = sizeof(kind);
  if (getsockopt(control.descriptor(), SOL_SOCKET, SO_TYPE, &kind, &size) != 0 || kind != SOCK_SEQPACKET) {
    return error(ErrorCode::kInvalidArgument,
                 "processes of sessions are started by workers, and only by them");
  }
  for (const int inherited : {kSessionSocket, kSessionFigures, kSessionCode})
    static_cast<void>(fcntl(inherited, F_SETFD, FD_CLOEXEC));
  DHPVM_ASSIGN(SharedFigures figures, SharedFigures::adopt(Descriptor(kSessionFigures)));
  return SessionProcess(std::move(control), std::move(figures));
}

Status SessionProcess::enter(const std::vector<std::string>& folders) {
  // Signals of the terminal and of service managers reach the whole process group: only the worker must react to them.
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal, SIG_IGN);
  // When memory runs out, the system should end a session before the worker.
  const Descriptor score(open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC));
  if (score.is_open()) static_cast<void>(::write(score.get(), "500", 3));
  if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0) {
    return error(ErrorCode::kIo, "the process of a session cannot be tied to its worker: {}",
                 std::strerror(errno));
  }
  static_cast<void>(prctl(PR_SET_NAME, "dhpvm-session", 0, 0, 0));
  DHPVM_ASSIGN(rights_, give_up_rights(folders));
  return {};
}

// Without the worker there is nothing to do.
Result<SessionProcess::Task> SessionProcess::wait() {
  if (!control_.send(control::Serving{rights_}, control::Patience::kForever).ok()) _exit(1);
  for (;;) {
    auto received = control_.receive_to_session(control::Patience::kForever);
    if (!received.ok()) _exit(1);
    std::optional<control::ToSession>& record = *received;
    if (const auto* const probe = std::get_if<control::Probe>(&*record)) {
      DHPVM_TRY(prepare_caches(probe->caches));
      return Task{true, probe->caches};
    }
    if (auto* const offer = std::get_if<control::Offer>(&*record)) {
      devices_.push_back(std::move(offer->device));
    }
    if (auto* const begin = std::get_if<control::Begin>(&*record)) {
      begin_ = std::move(*begin);
      DHPVM_TRY(prepare_caches(begin_->caches));
      return Task{false, begin_->caches};
    }
    // The session was closed before it began.
    if (std::holds_alternative<control::Close>(*record)) _exit(0);
  }
}

void SessionProcess::refuse(const Error& reason) const {
  const control::Unable record{static_cast<std::uint64_t>(reason.code()), one_line(reason)};
  static_cast<void>(control_.send(record, control::Patience::kNone));
}

Status SessionProcess::show(const std::vector<std::shared_ptr<Device>>& devices) const {
  for (const std::shared_ptr<Device>& device : devices)
    DHPVM_TRY(control_.send(control::Lends{facts_of(device->info())}, control::Patience::kForever));
  return {};
}

void SessionProcess::serve(Fabric& fabric, Transport& transport, OpenDevice open_device,
                           WorkerOptions options) {
  ServedSession session(control_, figures_.figures(), devices_, fabric, transport, std::move(open_device),
                        std::move(options));
  session.serve(*begin_);
}

}  // namespace dhpvm::offload
