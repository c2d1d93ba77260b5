// SPDX-License-Identifier: Apache-2.0
#include "offload/devices/timeline.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace dhpvm::offload {
namespace {

Error not_above(std::uint64_t value, std::uint64_t promised) {
  return error(
      ErrorCode::kInvalidArgument,
      "a semaphore cannot be signalled to {}, because {} has been signalled or promised before: each signal "
      "takes a larger value than the one before",
      value, promised);
}

Error foreign() {
  return error(
      ErrorCode::kInvalidArgument,
      "a semaphore in the order is null or belongs to another device: use semaphores that create_semaphore() "
      "of the queue's device has made");
}

}  // namespace

TimelineSemaphore* Timeline::own(const SemaphoreValue& entry) const {
  auto* const semaphore = dynamic_cast<TimelineSemaphore*>(entry.semaphore.get());
  return semaphore != nullptr && &semaphore->timeline_ == this ? semaphore : nullptr;
}

Status Timeline::submit(const Order& order) {
  const std::lock_guard lock(mutex_);
  for (const SemaphoreValue& wait : order.waits) {
    TimelineSemaphore* const semaphore = own(wait);
    if (semaphore == nullptr) return foreign();
    // A semaphore that has failed answers at once, for every value.
    if (wait.value > semaphore->promised_ && !semaphore->has_failed())
      return error(ErrorCode::kInvalidArgument,
                   "an operation waits for value {} of a semaphore of which only values up to {} have been "
                   "signalled or "
                   "submitted to be: submit the operation that signals it first",
                   wait.value, semaphore->promised_);
  }
  for (std::size_t n = 0; n < order.signals.size(); ++n) {
    const SemaphoreValue& signal = order.signals[n];
    TimelineSemaphore* const semaphore = own(signal);
    if (semaphore == nullptr) return foreign();
    std::uint64_t promised = semaphore->promised_;
    for (const SemaphoreValue& earlier : order.signals.first(n)) {
      if (earlier.semaphore == signal.semaphore) promised = earlier.value;
    }
    if (signal.value <= promised) return not_above(signal.value, promised);
  }
  for (const SemaphoreValue& signal : order.signals) own(signal)->promised_ = signal.value;
  return {};
}

Result<std::uint64_t> TimelineSemaphore::value() {
  const std::lock_guard lock(mutex_);
  if (failure_) return *failure_;
  return value_;
}

Result<bool> TimelineSemaphore::await(std::uint64_t value, Clock::time_point deadline) {
  std::unique_lock lock(mutex_);
  // A mere look is no reason for others to wake anybody; waiting until a time long past costs a call of the system.
  const bool is_look = deadline <= Clock::time_point{};
  while (value_ < value && !failure_) {
    if (is_look) return false;
    awaited_ = std::min(awaited_, value);
    if (deadline == Clock::time_point::max()) {
      changed_.wait(lock);
    } else if (changed_.wait_until(lock, deadline) == std::cv_status::timeout && value_ < value &&
               !failure_) {
      return false;
    }
  }
  if (value_ >= value) return true;
  return *failure_;
}

Status TimelineSemaphore::signal(std::uint64_t value) {
  const std::lock_guard lock(timeline_.mutex_);
  if (value <= promised_) return not_above(value, promised_);
  promised_ = value;
  reach(value);
  return {};
}

void TimelineSemaphore::fail(Error error) {
  Listening listening;
  {
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = std::move(error);
    listening = std::exchange(listening_, {});
    awaited_ = kNobody;
    changed_.notify_all();
  }
  tell(listening);
}

Result<bool> TimelineSemaphore::has_reached(std::uint64_t value) {
  const std::lock_guard lock(mutex_);
  if (value_ < value && failure_) return *failure_;
  return value_ >= value;
}

void TimelineSemaphore::reach(std::uint64_t value) {
  Listening listening;
  bool is_awaited = false;
  {
    const std::lock_guard lock(mutex_);
    if (!failure_) value_ = std::max(value_, value);
    if (value_ >= listening_.value) listening = std::exchange(listening_, {});
    is_awaited = value_ >= awaited_;
    // Those who are to wait further say so again.
    if (is_awaited) awaited_ = kNobody;
  }
  // A woken waiter needs the mutex. The caller keeps the semaphore.
  if (is_awaited) changed_.notify_all();
  tell(listening);
}

bool TimelineSemaphore::listen(std::uint64_t value, std::shared_ptr<SemaphoreListener> listener,
                               std::uint64_t label) {
  const std::lock_guard lock(mutex_);
  if (value_ >= value || failure_) return false;
  listening_ = {value, std::move(listener), label};
  return true;
}

void TimelineSemaphore::tell(const Listening& listening) {
  if (listening.listener != nullptr) listening.listener->on_reached(listening.label);
}

bool TimelineSemaphore::has_failed() {
  const std::lock_guard lock(mutex_);
  return failure_.has_value();
}

}  // namespace dhpvm::offload
