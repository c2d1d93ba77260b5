// SPDX-License-Identifier: Apache-2.0
// Decides whether an idle thread spins before it sleeps. Waking a thread takes longer than many waits: 35 us in a
// virtual machine, and twice that where both sides sleep in turns. Then each side sees only long sleeps, although each
// answer would come soon. So a thread tries: after some short sleeps it spins once, for at most kLongest, and goes on
// spinning as long as most waits end within that time. A thread whose core is wanted by others sleeps: after a yield it
// may get its core back only after milliseconds, after a sleep sooner.
#pragma once

#include <algorithm>
#include <chrono>
#include <thread>

namespace dhpvm {

// The core that a thread runs on. Tests pass one of their own, with a clock that they control.
struct SystemCore {
  static std::chrono::steady_clock::time_point now() { return std::chrono::steady_clock::now(); }
  static void yield() { std::this_thread::yield(); }
};

// Belongs to one thread, or to several that take turns; not thread-safe.
template <class Core>
class BasicAdaptiveSpin {
 public:
  using Clock = std::chrono::steady_clock;
  // Longer waits are not worth spinning for.
  static constexpr std::chrono::microseconds kLongest{100};
  // A sleep no longer than this may have been a wait of at most kLongest; the rest is the time that waking takes.
  static constexpr std::chrono::microseconds kShortSleep{250};
  // The number of short sleeps in a row before a thread spins: at first, and at most, after repeated spinning in vain.
  static constexpr unsigned kFirstPatience = 2;
  static constexpr unsigned kMostPatience = 256;

  // Whether to check again (true) or to sleep; yields the core in between. A new value of `idle_since` begins a new
  // wait.
  bool again(Clock::time_point idle_since) {
    if (idle_since != wait_) end_wait(idle_since);
    if (credit_ == 0) return false;
    const Clock::time_point now = Core::now();
    if (now - idle_since >= kLongest) return false;
    has_spun_ = true;
    // The thread that we wait for may need this core.
    Core::yield();
    if (Core::now() - now > kLongest / 2) lose(kMostCredit);
    return true;
  }

  // The thread has slept for `time`, in the wait that again() was last asked about.
  void slept(Clock::duration time) {
    if (has_spun_) {
      lose(1);
    } else if (time > kShortSleep) {
      short_sleeps_ = 0;
    } else if (++short_sleeps_ >= patience_) {
      credit_ = 1;
    }
    has_spun_ = false;
  }

  bool is_spinning() const { return credit_ != 0; }
  unsigned patience() const { return patience_; }

 private:
  // The most waits in a row that a thread spins through in vain; it earns one for each wait that ended in time.
  static constexpr unsigned kMostCredit = 8;

  // The wait that this thread has spun through is over.
  void end_wait(Clock::time_point idle_since) {
    wait_ = idle_since;
    if (!has_spun_) return;
    has_spun_ = false;
    credit_ = std::min(credit_ + 1, kMostCredit);
    if (credit_ == kMostCredit) patience_ = kFirstPatience;
  }
  void lose(unsigned credit) {
    has_spun_ = false;
    if (credit_ == 0) return;
    credit_ -= std::min(credit_, credit);
    if (credit_ != 0) return;
    short_sleeps_ = 0;
    patience_ = std::min(2 * patience_, kMostPatience);
  }

  Clock::time_point wait_;
  bool has_spun_ = false;  // in this wait
  unsigned credit_ = 0;    // 0: it sleeps at once
  unsigned short_sleeps_ = 0;
  unsigned patience_ = kFirstPatience;
};

using AdaptiveSpin = BasicAdaptiveSpin<SystemCore>;

}  // namespace dhpvm
