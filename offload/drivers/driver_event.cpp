// SPDX-License-Identifier: Apache-2.0
#include "offload/drivers/driver_event.h"

#include <algorithm>
#include <chrono>
#include <thread>

namespace dhpvm::offload {

void poll(DriverEvent& event, Semaphore::Clock::time_point deadline) {
  using Clock = Semaphore::Clock;
  constexpr Clock::duration kShortest = std::chrono::microseconds(20);
  constexpr Clock::duration kLongest = std::chrono::microseconds(125);
  const Clock::time_point begin = Clock::now();
  while (true) {
    const Result<bool> ended = event.ended();
    if (!ended.ok() || *ended) return;
    const Clock::time_point now = Clock::now();
    if (now >= deadline) return;
    const Clock::duration pause = std::clamp((now - begin) / 8, kShortest, kLongest);
    std::this_thread::sleep_for(std::min(pause, deadline - now));
  }
}

}  // namespace dhpvm::offload
