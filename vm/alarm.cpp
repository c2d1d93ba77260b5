// SPDX-License-Identifier: Apache-2.0
#include "vm/alarm.h"

namespace dhpvm::vm {

Alarm::~Alarm() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

Status Alarm::start() {
  const std::lock_guard lock(mutex_);
  return thread_.start_once("dhpvm-alarm", [this] { work(); });
}

Alarm::Setting::Setting(Alarm& alarm, Time time, StopToken& token)
    : alarm_(alarm), time_(time), token_(token) {
  {
    const std::lock_guard lock(alarm_.mutex_);
    alarm_.settings_.push_back(this);
  }
  alarm_.changed_.notify_all();
}

Alarm::Setting::~Setting() {
  const std::lock_guard lock(alarm_.mutex_);
  alarm_.settings_.remove(this);
}

void Alarm::work() {
  std::unique_lock lock(mutex_);
  while (!stop_) {
    Time next = Time::max();
    const Time now = std::chrono::steady_clock::now();
    for (Setting* const setting : settings_) {
      if (setting->rung_) continue;
      if (setting->time_ <= now) {
        setting->rung_ = true;
        setting->token_.raise(StopToken::kDeadline);
      } else if (setting->time_ < next) {
        next = setting->time_;
      }
    }
    if (next == Time::max()) {
      changed_.wait(lock);
    } else {
      changed_.wait_until(lock, next);
    }
  }
}

}  // namespace dhpvm::vm
