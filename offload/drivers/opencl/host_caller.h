// SPDX-License-Identifier: Apache-2.0
// Calls functions of the host between operations of a command queue, for which OpenCL has no command.
//
// A marker in the queue signals when it is the function's turn, and a barrier after it stops the queue until a user
// event signals that the function has returned. A separate thread waits for the markers, because drivers may hold locks
// while they call back, and not all of them call back when a marker has failed.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "base/thread.h"
#include "offload/drivers/opencl/api.h"
#include "offload/drivers/opencl/callbacks.h"
#include "offload/drivers/opencl/clock.h"
#include "offload/drivers/submission.h"

namespace dhpvm::offload {

class OpenClEvent;

// On the device's clock. Written before the user event is set.
struct HostCallTimes {
  bool called = false;
  DeviceClock::Nanoseconds begin{0};
  DeviceClock::Nanoseconds end{0};
};

struct HostCall {
  std::function<void()> function;
  // The function is called only if these values are reached and `previous`, if any, succeeds. The marker ends after
  // that, unless something fails.
  std::vector<SemaphoreValue> waits;
  SubmissionPointer previous;
  std::unique_ptr<DriverEvent> marker;    // an OpenClEvent, flushed
  std::unique_ptr<OpenClEvent> returned;  // the user event
  std::shared_ptr<HostCallTimes> times;
};

// Thread-safe.
class HostCaller {
 public:
  HostCaller(const OpenClApi& api, SubmissionTracker& tracker, const DeviceClock& clock);
  // No call may be outstanding.
  ~HostCaller();
  HostCaller(const HostCaller&) = delete;
  HostCaller& operator=(const HostCaller&) = delete;

  // Starts the thread unless it runs; called before the marker of the first call is submitted.
  Status start();
  void add(HostCall call);

 private:
  enum class Turn : std::uint8_t { kNotYet, kCall, kSkip };

  void run();
  Turn turn_of(const HostCall& call) const;
  void perform(HostCall& call, Turn turn) const;

  const OpenClApi& api_;
  SubmissionTracker& tracker_;
  const DeviceClock& clock_;
  EventCallbacks callbacks_;
  // Guarded by the mutex of callbacks_.
  std::vector<HostCall> added_;
  bool stopping_ = false;
  Thread thread_;
};

}  // namespace dhpvm::offload
