// SPDX-License-Identifier: Apache-2.0
// The state that the parts of a worker's session share: client, limits, two threads, and whether the session has ended.
//
// The state of all parts belongs to the progress thread. Devices may block, so they are called only on the session's
// own thread, except for submitting operations, which never blocks.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"
#include "offload/remote/fabric/frame_lane.h"
#include "offload/remote/fabric/protocol.h"
#include "offload/remote/worker/session_host.h"

namespace dhpvm::offload {

class SessionPort {
 public:
  virtual SessionHost& host() = 0;
  SessionFigures& figures() { return *host().own_figures(); }
  virtual bool has_ended() const = 0;
  // Ends the session with the reason that the client gets.
  virtual void close(EndCause cause, Error reason) = 0;

  // The lane to the client. It may be used on any thread, and outlives the session.
  virtual const std::shared_ptr<FrameLane>& frames() const = 0;
  // Counts a request until its reply; kProtocol when the client has too many waiting.
  virtual Status begin_request() = 0;
  virtual void reply(const wire::Reply& answer) = 0;
  void reply(wire::Id request, const Status& status);
  // One line of the worker's log.
  virtual void log(LogLevel level, std::string_view text) = 0;

  // Runs tasks on the session's own thread, one after the other. They run even if the session ends before.
  virtual void post_task(std::function<void()> task) = 0;
  // The session lives until the function has been called. From any thread.
  virtual void post_to_progress(std::function<void()> function) = 0;
  // For callbacks of devices: the session and its parts exist while this can be locked.
  virtual std::weak_ptr<void> alive() = 0;

  void send(const wire::FromWorker& record) { send(*frames(), record); }
  static void send(FrameLane& frames, const wire::FromWorker& record);
  // kProtocol when there is no such device, or when it is not open.
  Result<Device*> device(std::uint64_t number);
  // Null until it is open.
  virtual Device* opened(std::uint64_t number) const = 0;
  virtual const WorkerLimits& limits() const = 0;

 protected:
  ~SessionPort() = default;
};

// The error for a client that breaks the protocol; it is disconnected.
Error protocol_violation(std::string_view what);

}  // namespace dhpvm::offload
