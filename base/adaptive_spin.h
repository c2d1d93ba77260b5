// SPDX-License-Identifier: Apache-2.0
// How long a thread with nothing to do asks again before it sleeps.
//
// Being woken costs more than much of what threads wait for: 25 us in a virtual machine. How long it pays to
// ask follows from what that has been good for: a thread whose sleeps turn out to be short asks up to
// kLongest, one that is idle sleeps at once. So does one whose core others want: whoever yields may be let
// back on it after milliseconds, whoever is woken sooner.
#pragma once

#include <algorithm>
#include <chrono>
#include <thread>

namespace dhpvm {

// Of one thread.
class AdaptiveSpin {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::nanoseconds kLongest = std::chrono::microseconds(50);

  // Whether to ask again, or else to sleep; lets other threads run in between.
  bool again(Clock::time_point idle_since) {
    const Clock::time_point now = Clock::now();
    if (now - idle_since >= limit_) return false;
    // Whoever we wait for may need this core.
    std::this_thread::yield();
    yielded(Clock::now() - now);
    return true;
  }

  // How long a sleep has been: one that asking could have saved makes for longer asking; one that it could
  // not, for shorter.
  void slept(Clock::duration time) {
    limit_ = time < kLongest ? std::min(kLongest, limit_ * 2 + std::chrono::microseconds(5)) : limit_ / 2;
  }
  // How long others have had the core.
  void yielded(Clock::duration time) {
    if (time > kLongest) limit_ = std::chrono::nanoseconds(0);
  }

  std::chrono::nanoseconds limit() const { return limit_; }

 private:
  std::chrono::nanoseconds limit_{0};
};

}  // namespace dhpvm
