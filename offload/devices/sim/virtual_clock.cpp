// SPDX-License-Identifier: Apache-2.0
#include "offload/devices/sim/virtual_clock.h"

#include <algorithm>

namespace dhpvm::offload {

VirtualTime VirtualClock::now() const {
  const std::lock_guard lock(mutex_);
  return now_;
}

void VirtualClock::advance(VirtualTime time) {
  const std::lock_guard lock(mutex_);
  now_ = std::max(now_, time);
}

VirtualTime VirtualClock::look() {
  const std::lock_guard lock(mutex_);
  return now_ += kLook;
}

Booking VirtualClock::book(Engine engine, VirtualTime ready, VirtualTime duration) {
  if (engine == Engine::kNone) return {ready, ready + duration};
  const std::lock_guard lock(mutex_);
  VirtualTime& free = free_[static_cast<std::size_t>(engine)];
  const VirtualTime begin = std::max(ready, free);
  free = begin + duration;
  return {begin, free};
}

SimSemaphore::SimSemaphore(Timeline& timeline, VirtualClock& clock, std::uint64_t initial)
    : TimelineSemaphore(timeline, initial), clock_(clock), steps_{{initial, clock.now()}} {}

Result<std::uint64_t> SimSemaphore::value() {
  DHPVM_ASSIGN(const std::uint64_t done, TimelineSemaphore::value());
  // Another thread may be submitting what the clock says has been reached.
  return std::min(done, reached_by(clock_.look()));
}

Result<bool> SimSemaphore::wait(std::uint64_t value, Clock::time_point deadline) {
  DHPVM_ASSIGN(const bool decided, await(value, deadline));
  if (!decided) return false;
  if (deadline <= Clock::now() && deadline != Clock::time_point::max())
    return reached_by(clock_.look()) >= value;
  clock_.advance(time_of(value));
  return true;
}

Status SimSemaphore::signal(std::uint64_t value) {
  DHPVM_TRY(TimelineSemaphore::signal(value));
  will_reach(value, clock_.now());
  return {};
}

void SimSemaphore::will_reach(std::uint64_t value, VirtualTime time) {
  const VirtualTime now = clock_.now();
  const std::lock_guard lock(mutex_);
  const auto after = std::ranges::lower_bound(steps_, value, {}, &Step::value);
  if (after != steps_.end() && after->time <= time) return;
  auto first = after;
  while (first != steps_.begin() && std::prev(first)->time >= time) --first;
  steps_.insert(steps_.erase(first, after), {value, time});
  // Nothing begins before the host's time, so that of the steps in the past the last is enough. Thrown away in large
  // numbers, which costs nothing on average.
  const auto future = std::ranges::upper_bound(steps_, now, {}, &Step::time);
  if (const auto past = future - steps_.begin(); past > 64 && past > std::ssize(steps_) / 2)
    steps_.erase(steps_.begin(), future - 1);
}

VirtualTime SimSemaphore::time_of(std::uint64_t value) {
  const std::lock_guard lock(mutex_);
  const auto step = std::ranges::lower_bound(steps_, value, {}, &Step::value);
  return step == steps_.end() ? VirtualTime{0} : step->time;
}

std::uint64_t SimSemaphore::reached_by(VirtualTime time) {
  const std::lock_guard lock(mutex_);
  const auto future = std::ranges::upper_bound(steps_, time, {}, &Step::time);
  return future == steps_.begin() ? 0 : std::prev(future)->value;
}

}  // namespace dhpvm::offload
