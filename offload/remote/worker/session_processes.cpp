// SPDX-License-Identifier: Apache-2.0
#include "offload/remote/worker/session_processes.h"

#include <utility>

#include "base/error.h"
#include "offload/remote/worker/session_watcher.h"

namespace dhpvm::offload {
namespace {

class ProcessSession final : public SessionHandle {
 public:
  ProcessSession(SessionWatcher& watcher, std::shared_ptr<SessionChild> process, const SessionStart& start)
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
    for (const wire::Device& device : watcher_.devices()) {
      if (!process_->control.send(control::Offer{device}, control::Patience::kNone).ok()) {
        watcher_.kill(*process_);
        return std::shared_ptr<Lane>();
      }
    }
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
  // A process that does not listen is killed, and the worker handles that like any other end.
  Result<std::shared_ptr<Lane>> send(control::ToSession record) {
    if (!process_->control.send(std::move(record), control::Patience::kNone).ok()) watcher_.kill(*process_);
    return std::shared_ptr<Lane>();
  }

  SessionWatcher& watcher_;
  const std::shared_ptr<SessionChild> process_;
  const std::uint64_t number_;
  const wire::Token token_;
  const SessionPlace place_;  // at the beginning of the session
  const std::string caches_;
  const bool dials_client_;
  bool has_bulk_ = false;
};

class SessionProcesses final : public SessionRunner {
 public:
  explicit SessionProcesses(std::unique_ptr<SessionWatcher> watcher) : watcher_(std::move(watcher)) {}
  Result<std::shared_ptr<SessionHandle>> begin(SessionStart start) override {
    DHPVM_ASSIGN(std::shared_ptr<SessionChild> process, watcher_->assign(start));
    return std::shared_ptr<SessionHandle>(
        std::make_shared<ProcessSession>(*watcher_, std::move(process), start));
  }
  const std::vector<wire::Device>& devices() const override { return watcher_->devices(); }

 private:
  const std::unique_ptr<SessionWatcher> watcher_;
};

}  // namespace

Result<std::unique_ptr<SessionRunner>> start_session_processes(Transport& transport,
                                                               SessionProcessesOptions options) {
  auto watcher = std::make_unique<SessionWatcher>(transport, std::move(options));
  DHPVM_TRY(watcher->start());
  return std::unique_ptr<SessionRunner>(std::make_unique<SessionProcesses>(std::move(watcher)));
}

}  // namespace dhpvm::offload
