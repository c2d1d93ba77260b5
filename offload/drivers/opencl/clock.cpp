// SPDX-License-Identifier: Apache-2.0
#include "offload/drivers/opencl/clock.h"

namespace dhpvm::offload {
namespace {

// Clocks of machines differ by some 10 ppm, and by up to 500 ppm while the time of day is being corrected.
constexpr std::int64_t kDriftDivisor = 10'000;

}  // namespace

void DeviceClock::compare(Nanoseconds before, Nanoseconds after, std::uint64_t driver) {
  const Nanoseconds window = after - before;
  const std::lock_guard lock(mutex_);
  // An interrupted comparison says little, and an old one less every second.
  if (compared_ && window > window_ + (after - when_) / kDriftDivisor) return;
  offset_ = before + window / 2 - Nanoseconds(static_cast<std::int64_t>(driver));
  window_ = window;
  when_ = after;
  compared_ = true;
}

DeviceClock::Nanoseconds DeviceClock::convert(std::uint64_t driver) const {
  const std::lock_guard lock(mutex_);
  return Nanoseconds(static_cast<std::int64_t>(driver)) + offset_;
}

}  // namespace dhpvm::offload
