// SPDX-License-Identifier: Apache-2.0
// A client at a worker, from its greeting to the end of the last operation. Each record that arrives is
// handled by the part of the session that has a handle() for it; nothing that a client sends is trusted
// before such a part has checked it.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "offload/remote/fabric/bulk_lane.h"
#include "offload/remote/fabric/frame_lane.h"
#include "offload/remote/fabric/protocol.h"
#include "offload/remote/worker/session_code.h"
#include "offload/remote/worker/session_host.h"
#include "offload/remote/worker/session_objects.h"
#include "offload/remote/worker/session_operations.h"
#include "offload/remote/worker/session_port.h"
#include "offload/remote/worker/session_queues.h"
#include "offload/remote/worker/session_runner.h"
#include "offload/remote/worker/session_transfers.h"
#include "offload/remote/worker/task_thread.h"

namespace dhpvm::offload {

class WorkerSession final : public FrameHandler,
                            public BulkHandler,
                            public std::enable_shared_from_this<WorkerSession>,
                            private SessionPort {
 public:
  // `dial_bulk`: see SessionStart. The host lives until on_session_ended().
  WorkerSession(SessionHost& host, wire::Token token, const SessionPlace& place,
                std::function<void()> dial_bulk);
  ~WorkerSession() override;

  // The lane for the first connection. The second one must follow within the handshake's deadline.
  std::shared_ptr<FrameLane> attach(const std::shared_ptr<Channel>& channel);
  // The second connection. kProtocol when there is one already.
  Status attach_bulk(std::shared_ptr<BulkLane> bulk);
  const std::shared_ptr<FrameLane>& frames() const override { return frames_; }
  void close(EndCause cause, Error reason) override;
  // See SessionHandle.
  void move_to(const SessionPlace& place);
  // Asks the client to leave.
  void announce_end();

  void on_open() override {}
  void on_frame(ConstBytes frame) override;
  void on_look(std::chrono::milliseconds listened, std::chrono::milliseconds patience) override;
  void on_closed(const Error& reason) override;
  // Both lanes are connected.
  void on_bulk_open() override;
  void on_run(ConstBytes header, std::uint64_t bytes) override;
  void on_bulk_closed(const Error& reason) override;

 private:
  // The most requests that may wait for a reply.
  static constexpr std::uint64_t kRequests = 64;
  SessionHost& host() override { return host_; }
  bool has_ended() const override { return ended_.has_value(); }
  const WorkerLimits& limits() const override { return limits_; }
  Status begin_request() override;
  void reply(const wire::Reply& answer) override;
  void log(LogLevel level, std::string_view text) override;
  void post_task(std::function<void()> task) override;
  void post_to_progress(std::function<void()> function) override;
  std::weak_ptr<void> alive() override { return weak_from_this(); }
  Device* opened(std::uint64_t number) const override { return devices_[number].device.get(); }

  Status handle(wire::Hello& record);
  Status handle(wire::Ping& record);
  // The part that has a handle() for the record.
  template <typename Record>
  Status dispatch(Record& record);
  Status admit(const wire::FromClient& record);
  void handle_frame(std::vector<wire::FromClient>& records);
  bool are_open_for(const std::vector<wire::FromClient>& records);
  void on_device(std::uint64_t number, const Result<std::shared_ptr<Device>>& opened);
  void await_bulk();
  void serve(const SessionPlace& place);
  void welcome();
  void become_ready();
  void watch_idleness();
  EndCause cause_of(const Error& reason) const;
  void begin_end(EndCause cause, const Error& reason);
  void end();
  void run_aside(std::function<void()> task);

  // The most bytes of unread replies. A client that reads its replies never has more than a few per operation.
  static constexpr std::size_t kMostWaiting = 4 << 20;

  SessionHost& host_;
  const wire::Token token_;
  const std::function<void()> dial_bulk_;
  WorkerLimits limits_;
  const SessionPlace first_place_;
  std::uint64_t place_;  // in the queue; 0: it is served
  std::shared_ptr<FrameLane> frames_;
  bool greeted_ = false;
  bool is_served_ = false;
  bool has_bulk_ = false;
  struct LentDevice {
    bool is_asked_for = false;
    std::shared_ptr<Device> device;  // null until it is open
  };
  std::vector<LentDevice> devices_;                        // in the order of the host's facts
  std::deque<std::vector<wire::FromClient>> held_frames_;  // until the devices that the first names are open
  std::chrono::steady_clock::time_point active_ = std::chrono::steady_clock::now();  // had something to do
  std::optional<EndCause> closed_for_;
  std::optional<Error> ended_;
  EndCause cause_ = EndCause::kLost;  // valid when the session has ended
  bool frames_closed_ = false;
  bool bulk_closed_ = false;
  std::uint64_t requests_outstanding_ = 0;

  SessionObjects objects_{*this};
  SessionCode code_{*this};
  SessionTransfers transfers_{*this, queues_};
  SessionQueues queues_{*this, objects_, transfers_};
  SessionOperations operations_{*this, objects_, code_, transfers_, queues_};

  TaskThread tasks_;  // last member, so that it is destroyed first
};

}  // namespace dhpvm::offload
