// SPDX-License-Identifier: Apache-2.0
#include "offload/remote/client/worker_clock.h"

#include "base/error.h"

namespace dhpvm::offload {
namespace {

// Measurements of the worker's clock in a row; the one with the shortest round trip counts.
constexpr std::uint64_t kPings = 8;
// The time for which a measurement of the clock is used while the link is in use, and an upper bound of the clocks'
// drift meanwhile, which is more than quartz has.
constexpr std::chrono::seconds kClockHolds{1};
constexpr std::int64_t kDrift = 20'000;  // the drift is one part in kDrift

}  // namespace

void WorkerClock::measure() {
  pinged_ = Clock::now();
  send_(wire::Ping{pings_++});
}

void WorkerClock::renew() {
  if (pings_ % kPings == 0 && Clock::now() - pinged_ > kClockHolds) measure();
}

Status WorkerClock::handle(const wire::Pong& record) {
  if (record.number + 1 != pings_)
    return error(ErrorCode::kProtocol, "the worker breaks the protocol: an answer to no question");
  const Clock::time_point now = Clock::now();
  const Clock::duration trip = now - pinged_;
  {
    const std::lock_guard lock(mutex_);
    // An earlier measurement with a shorter trip is better, unless the clocks may have drifted further apart since.
    if (best_trip_ == Clock::duration::max() ||
        trip / 2 < best_trip_ / 2 + (now - shift_measured_) / kDrift) {
      best_trip_ = trip;
      shift_measured_ = now;
      // Assume that the worker read its clock at half of the round trip.
      const auto here = static_cast<std::uint64_t>((pinged_ + trip / 2).time_since_epoch().count());
      shift_ = std::chrono::nanoseconds(static_cast<std::int64_t>(here - record.clock_ns));
    }
  }
  if (pings_ % kPings != 0) measure();
  return {};
}

std::chrono::nanoseconds WorkerClock::shift() {
  const std::lock_guard lock(mutex_);
  return shift_;
}

std::optional<std::chrono::nanoseconds> WorkerClock::round_trip() {
  const std::lock_guard lock(mutex_);
  if (best_trip_ == Clock::duration::max()) return std::nullopt;
  return best_trip_;
}

}  // namespace dhpvm::offload
