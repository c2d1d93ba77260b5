// SPDX-License-Identifier: Apache-2.0
#include "offload/remote/worker/session_process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/one_line.h"
#include "offload/remote/worker/session_host.h"
#include "offload/remote/worker/session_rights.h"
#include "offload/remote/worker/worker_session.h"

namespace dhpvm::offload {
namespace {

class SessionProcess final : private SessionHost {
 public:
  SessionProcess(const control::Socket& control, Fabric& fabric, Transport& transport,
                 std::vector<std::shared_ptr<Device>> devices, WorkerOptions options)
      : control_(control),
        fabric_(fabric),
        transport_(transport),
        devices_(std::move(devices)),
        options_(std::move(options)) {}

  [[noreturn]] void serve(const std::string& rights);

 private:
  const WorkerOptions& options() const override { return options_; }
  const std::vector<std::shared_ptr<Device>>& devices() const override { return devices_; }
  Fabric& fabric() override { return fabric_; }
  Transport& transport() override { return transport_; }
  void log(LogLevel level, std::string_view text) override {
    tell(control::LogLine{level, std::string(text)});
  }
  // Kernels that still run, memory and files: the system ends and frees them.
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

  const control::Socket& control_;
  Fabric& fabric_;
  Transport& transport_;
  const std::vector<std::shared_ptr<Device>> devices_;
  const WorkerOptions options_;
  bool dials_client_ = false;
  std::shared_ptr<WorkerSession> session_;
};

// Without the worker there is nobody to tell anything to.
void SessionProcess::tell(const control::FromSession& record) const {
  if (!control_.send(record, control::Patience::kForever).ok()) _exit(1);
}

void SessionProcess::end(const ClientGone& gone) const {
  tell(control::Ended{gone.cause, one_line(gone.reason), gone.work.value_or(SessionEnd::Work{})});
  _exit(0);
}

void SessionProcess::serve(const std::string& rights) {
  tell(control::Serving{rights});
  for (;;) {
    auto record = control_.receive_to_session(control::Patience::kForever);
    if (!record.ok()) _exit(1);
    std::visit([this](auto& fields) { handle(fields); }, **record);
  }
}

SealPair SessionProcess::seals_of(DetachedChannel& channel) {
  if (!channel.seals) return {};
  SealPair seals = fabric_.resume(*channel.seals);
  explicit_bzero(&*channel.seals, sizeof(*channel.seals));
  return seals;
}

void SessionProcess::handle(control::Begin& record) {
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

void SessionProcess::handle(control::TakeBulk& record) {
  if (session_ == nullptr) return;
  // The worker has received the token, where the client has dialled.
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

void SessionProcess::handle(control::Move& record) {
  transport_.post([this, place = record.place] {
    if (session_ != nullptr) session_->move_to(place);
  });
}

void SessionProcess::handle(control::AnnounceEnd&) {
  transport_.post([this] {
    if (session_ != nullptr) session_->announce_end();
  });
}

void SessionProcess::handle(control::Close& record) {
  if (session_ == nullptr) _exit(0);
  const auto code = static_cast<ErrorCode>(
      std::min<std::uint64_t>(record.code, static_cast<std::uint64_t>(kLastErrorCode)));
  transport_.post(
      [this, cause = record.cause, reason = Error(code, record.message)] { session_->close(cause, reason); });
}

}  // namespace

Result<std::string> enter_session_process(const control::Socket& control,
                                          const std::vector<std::string>& folders) {
  int kind = 0;
  socklen_t size = sizeof(kind);
  if (getsockopt(control.descriptor(), SOL_SOCKET, SO_TYPE, &kind, &size) != 0 || kind != SOCK_SEQPACKET) {
    return error(ErrorCode::kInvalidArgument,
                 "processes of sessions are started by workers, and only by them");
  }
  static_cast<void>(fcntl(control.descriptor(), F_SETFD, FD_CLOEXEC));
  // Signals of the terminal and of service managers reach the whole group: it is the worker that answers them.
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal, SIG_IGN);
  // When memory runs out, a session goes before the worker.
  const Descriptor score(open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC));
  if (score.is_open()) static_cast<void>(::write(score.get(), "500", 3));
  if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0) {
    return error(ErrorCode::kIo, "the process of a session cannot be tied to its worker: {}",
                 std::strerror(errno));
  }
  static_cast<void>(prctl(PR_SET_NAME, "dhpvm-session", 0, 0, 0));
  return give_up_rights(folders);
}

void refuse_session(const control::Socket& control, const Error& reason) {
  const control::Unable record{static_cast<std::uint64_t>(reason.code()), one_line(reason)};
  static_cast<void>(control.send(record, control::Patience::kNone));
}

void serve_session(const control::Socket& control, Fabric& fabric, Transport& transport,
                   std::vector<std::shared_ptr<Device>> devices, WorkerOptions options,
                   const std::string& rights) {
  SessionProcess process(control, fabric, transport, std::move(devices), std::move(options));
  process.serve(rights);
}

}  // namespace dhpvm::offload
