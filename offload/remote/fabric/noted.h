// SPDX-License-Identifier: Apache-2.0
// For tests: what the progress thread has told, and the thread of a test waits for.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace dhpvm::offload {

class Noted {
 public:
  // Only a hang takes that long.
  static constexpr std::chrono::milliseconds kPatience{30'000};

  // Until `predicate`, of what is noted, holds; false if it does not in time.
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
