// SPDX-License-Identifier: Apache-2.0
// Calls of functions that nobody can interrupt, such as a driver's compiler: each runs on a thread of its own, so that
// whoever waits for it can stop waiting.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <list>
#include <memory>
#include <mutex>

#include "base/thread.h"
#include "dhpvm/result.h"

namespace dhpvm {

// Thread-safe. Everything that a function uses must live until the function has returned.
class BackgroundCalls {
 public:
  struct Call {
    Thread thread;
    bool has_returned = false;
  };
  using Handle = std::shared_ptr<const Call>;

  BackgroundCalls() = default;
  // Waits for all calls.
  ~BackgroundCalls();
  BackgroundCalls(const BackgroundCalls&) = delete;
  BackgroundCalls& operator=(const BackgroundCalls&) = delete;

  // Begins to call `function`, which must not throw. If the system starts no thread, it is called before this returns.
  Handle begin(std::function<void()> function);
  // Waits until the function has returned. `poll` is asked every few milliseconds; its error ends the waiting and is
  // returned, and the call goes on.
  Status wait(const Handle& call, const std::function<Status()>& poll);
  // Waits for all calls until `deadline`. False if one goes on.
  bool finish(std::chrono::steady_clock::time_point deadline);

 private:
  void forget_returned();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::list<std::shared_ptr<Call>> calls_;
};

}  // namespace dhpvm
