// SPDX-License-Identifier: Apache-2.0
// The time that an idle thread spins before it sleeps. Waking one
// costs more than many waits: 25 us in a virtual machine. The limit
// adapts to earlier waits: a thread whose sleeps turn out to be
// short spins up to kLongest, an idle one sleeps at once. So does a
// thread whose core others want: one that yields may get its core
// back only after milliseconds, one that sleeps is woken sooner.
#pragma once

#include <algorithm>
#include <chrono>
#include <thread>

namespace dhpvm {

// The spin limit of one thread; not thread-safe.
class AdaptiveSpin {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::nanoseconds kLongest = std::chrono::microseconds(50);

  // Whether to check again (true) or to sleep; yields the core in between.
  bool again(Clock::time_point idle_since) {
    const Clock::time_point now = Clock::now();
    if (now - idle_since >= limit_) return false;
    // The thread that we wait for may need this core.
    std::this_thread::yield();
    yielded(Clock::now() - now);
    return true;
  }

  // Adapts to a finished sleep: one shorter than kLongest
  // raises the limit, a longer one halves it.
  void slept(Clock::duration time) {
    limit_ = time < kLongest ? std::min(kLongest, limit_ * 2 + std::chrono::microseconds(5)) : limit_ / 2;
  }
  // `time`: for how long others have had the core.
  void yielded(Clock::duration time) {
    if (time > kLongest) limit_ = std::chrono::nanoseconds(0);
  }

  std::chrono::nanoseconds limit() const { return limit_; }

 private:
  std::chrono::nanoseconds limit_{0};
};

}  // namespace dhpvm
