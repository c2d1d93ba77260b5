// SPDX-License-Identifier: Apache-2.0
// Waiting until the driver calls back: whoever asks a processor's driver again and again takes time from the
// threads that do what it asks for.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>

#include "offload/drivers/opencl/api.h"

namespace dhpvm::offload {

// Thread-safe.
class EventCallbacks {
 public:
  explicit EventCallbacks(const OpenClApi& api) : api_(api) {}
  // Waits a little for callbacks that are owed. Nobody may wait here any more.
  ~EventCallbacks();
  EventCallbacks(const EventCallbacks&) = delete;
  EventCallbacks& operator=(const EventCallbacks&) = delete;

  // Has the driver call back when `event` has ended; false if it refuses. Drivers may forget it when a command fails.
  bool order(cl_event event);
  // How often it has called back so far.
  std::uint64_t calls() const;
  // Blocks until it has done so more often than `calls`, or until `deadline`.
  void wait(std::uint64_t calls, std::chrono::steady_clock::time_point deadline);

  // For those who wait for more than that: what is theirs can be guarded by `mutex`, and `changed` tells of it, too.
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    std::uint64_t calls = 0;
    std::size_t owed = 0;
  };
  State& state() { return *state_; }

 private:
  static void CL_CALLBACK on_end(cl_event event, cl_int status, void* state);

  const OpenClApi& api_;
  // Lives until the driver has made every callback that it owes.
  std::unique_ptr<State> state_ = std::make_unique<State>();
};

}  // namespace dhpvm::offload
