// SPDX-License-Identifier: Apache-2.0
// Waits for callbacks of the driver, because polling the driver of a processor takes time from the threads that do its
// work.
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
  // Waits a little for outstanding callbacks. No thread may be in wait().
  ~EventCallbacks();
  EventCallbacks(const EventCallbacks&) = delete;
  EventCallbacks& operator=(const EventCallbacks&) = delete;

  // Requests a callback for the end of `event`; false if the driver refuses. Drivers may omit it when a command fails.
  bool order(cl_event event);
  // The number of callbacks so far.
  std::uint64_t calls() const;
  // Blocks until there have been more callbacks than `calls`, or until `deadline`.
  void wait(std::uint64_t calls, std::chrono::steady_clock::time_point deadline);

  // Threads that also wait for other conditions can guard their state by `mutex`, and signal changes by `changed`.
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
