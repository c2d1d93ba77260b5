// SPDX-License-Identifier: Apache-2.0
#include "offload/remote/worker/local_sessions.h"

#include <utility>

#include "base/error.h"
#include "offload/remote/worker/session_host.h"
#include "offload/remote/worker/worker_session.h"

namespace dhpvm::offload {
namespace {

// The objects that all sessions share.
struct Surroundings {
  Fabric& fabric;
  Transport& transport;
  const std::vector<std::shared_ptr<Device>> devices;
  const WorkerOptions options;
  const DeviceGate gate;
  std::vector<wire::Device> facts = {};  // of the devices
};

class LocalSession final : public SessionHandle, private SessionHost {
 public:
  LocalSession(Surroundings& surroundings, SessionStart start)
      : surroundings_(surroundings),
        start_(std::move(start)),
        session_(std::make_shared<WorkerSession>(static_cast<SessionHost&>(*this), start_.token, start_.place,
                                                 start_.dial_bulk)) {}

  Result<std::shared_ptr<Lane>> take_frames(const std::shared_ptr<Channel>& channel) override {
    return std::shared_ptr<Lane>(session_->attach(channel));
  }
  Result<std::shared_ptr<BulkHandler>> take_bulk(const std::shared_ptr<BulkLane>& lane) override {
    DHPVM_TRY(session_->attach_bulk(lane));
    session_->on_bulk_open();
    return std::shared_ptr<BulkHandler>(session_);
  }
  Result<std::shared_ptr<Lane>> take_dialled_bulk(const std::shared_ptr<Channel>& channel) override {
    auto lane = std::make_shared<BulkLane>(channel, session_);
    DHPVM_TRY(session_->attach_bulk(lane));
    return std::shared_ptr<Lane>(std::move(lane));
  }
  void move_to(const SessionPlace& place) override { session_->move_to(place); }
  void announce_end() override { session_->announce_end(); }
  void close(EndCause cause, const Error& reason) override { session_->close(cause, reason); }
  const SessionFigures& figures() const override { return *figures_; }

 private:
  const WorkerOptions& options() const override { return surroundings_.options; }
  const std::vector<wire::Device>& facts() const override { return surroundings_.facts; }
  void prepare() override {}
  Result<std::shared_ptr<Device>> open_device(std::uint64_t number) override {
    if (surroundings_.gate) DHPVM_TRY(surroundings_.gate(number));
    return surroundings_.devices[number];
  }
  const std::shared_ptr<SessionFigures>& own_figures() const override { return figures_; }
  Fabric& fabric() override { return surroundings_.fabric; }
  Transport& transport() override { return surroundings_.transport; }
  void log(LogLevel level, std::string_view text) override {
    if (options().log) options().log({level, start_.number, std::string(text), {}});
  }
  void on_client_gone(const ClientGone& gone) override {
    gone_ = gone;
    log_end(options().log, start_, gone);
  }
  void on_session_ended(const Error&) override {
    const auto ended = std::move(start_.ended);
    ended(ClientGone(gone_));  // this object is destroyed here
  }

  Surroundings& surroundings_;
  SessionStart start_;
  ClientGone gone_{EndCause::kLost, Error(ErrorCode::kDeviceLost, ""), {}};
  // Declared before the session, which uses them.
  const std::shared_ptr<SessionFigures> figures_ = std::make_shared<SessionFigures>();
  const std::shared_ptr<WorkerSession> session_;
};

class LocalSessions final : public SessionRunner {
 public:
  explicit LocalSessions(Surroundings surroundings) : surroundings_(std::move(surroundings)) {
    for (const auto& device : surroundings_.devices) surroundings_.facts.push_back(facts_of(device->info()));
  }
  const std::vector<wire::Device>& devices() const override { return surroundings_.facts; }
  Result<std::shared_ptr<SessionHandle>> begin(SessionStart start) override {
    return std::shared_ptr<SessionHandle>(std::make_shared<LocalSession>(surroundings_, std::move(start)));
  }

 private:
  Surroundings surroundings_;
};

}  // namespace

std::unique_ptr<SessionRunner> make_local_sessions(Fabric& fabric, Transport& transport,
                                                   std::vector<std::shared_ptr<Device>> devices,
                                                   WorkerOptions options, DeviceGate gate) {
  return std::make_unique<LocalSessions>(
      Surroundings{fabric, transport, std::move(devices), std::move(options), std::move(gate)});
}

}  // namespace dhpvm::offload
