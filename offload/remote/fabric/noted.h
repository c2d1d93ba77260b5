// SPDX-License-Identifier: Apache-2.0
// For tests: events of the progress thread, for which the thread of a test waits.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace dhpvm::offload {

class Noted {
 public:
  // A longer wait means that the test hangs.
  static constexpr std::chrono::milliseconds kPatience{30'000};

  // Waits until `predicate` holds for the recorded events; false if it does not within `patience`.
  template <typename Predicate>
  bool wait(Predicate predicate, std::chrono::milliseconds patience = kPatience) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, patience, predicate);
  }

 protected:
  template <typename Change>
  void note(Change change) {
    const std::lock_guard lock(mutex_);
    change();
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
};

}  // namespace dhpvm::offload
