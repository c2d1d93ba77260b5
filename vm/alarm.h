// SPDX-License-Identifier: Apache-2.0
// Stores a value in a flag when a time has come: how a deadline reaches a parallel loop that runs on several threads.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <list>
#include <mutex>

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

  // Starts the thread, unless it runs. Fails when the system grants none: alarms do not ring then.
  Status start();

  // While it lives, an alarm is set.
  class Setting {
   public:
    Setting(Alarm& alarm, Time time, std::atomic<std::uint32_t>& flag, std::uint32_t value);
    ~Setting();
    Setting(const Setting&) = delete;
    Setting& operator=(const Setting&) = delete;

   private:
    friend class Alarm;
    Alarm& alarm_;
    const Time time_;
    std::atomic<std::uint32_t>& flag_;
    const std::uint32_t value_;
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
