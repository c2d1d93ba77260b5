// SPDX-License-Identifier: Apache-2.0
// Raises stop tokens at given times: this is how a deadline reaches loops that run on several threads and devices.
#pragma once

#include <chrono>
#include <condition_variable>
#include <list>
#include <mutex>

#include "base/stop_token.h"
#include "base/thread.h"
#include "dhpvm/result.h"

namespace dhpvm::vm {

// Thread-safe.
class Alarm {
 public:
  using Time = std::chrono::steady_clock::time_point;

  Alarm() = default;
  ~Alarm();
  Alarm(const Alarm&) = delete;
  Alarm& operator=(const Alarm&) = delete;

  // Starts the thread unless it runs. Fails when the system refuses a thread: then no token is raised.
  Status start();

  // While it lives, StopToken::kDeadline of `token` is raised at `time`.
  class Setting {
   public:
    Setting(Alarm& alarm, Time time, StopToken& token);
    ~Setting();
    Setting(const Setting&) = delete;
    Setting& operator=(const Setting&) = delete;

   private:
    friend class Alarm;
    Alarm& alarm_;
    const Time time_;
    StopToken& token_;
    bool rung_ = false;
  };

 private:
  void work();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::list<Setting*> settings_;
  bool stop_ = false;
  Thread thread_;
};

}  // namespace dhpvm::vm
