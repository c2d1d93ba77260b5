// SPDX-License-Identifier: Apache-2.0
#include "offload/schedule/pipeline/pace.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include "offload/schedule/pipeline/stage_load.h"

namespace dhpvm::offload {
namespace {

// The time within which everything in flight is done: long enough to keep any device busy, and less than the 100 ms
// that a request to stop may take.
constexpr double kMostUnderWay = 0.08;
// A launch takes half of that, so that another one can be queued behind it.
constexpr double kMostInLaunch = kMostUnderWay / 2;
// Other arguments may make the iterations of a loop with inner loops longer: the first launch is sized for this time at
// the old rate.
constexpr double kTrialSeconds = 2e-3;
// The largest growth from one launch to the next: a short launch takes mostly the time of launching.
constexpr double kGrowth = 32;
constexpr double kMostIterations = 1e18;

bool is_straight(const Loop& loop) { return std::isfinite(longest_iteration(loop)); }

std::vector<std::uint64_t> arguments_of(const Loop& loop) {
  std::vector<std::uint64_t> arguments(loop.scalars.begin(), loop.scalars.end());
  for (const codegen::KernelArray& array : loop.arrays) {
    for (const std::int64_t extent : array.shape.dims)
      arguments.push_back(static_cast<std::uint64_t>(extent));
  }
  return arguments;
}

// The factor by which an iteration may have become longer: inner loops may be bounded by any of the arguments, and
// nested twice. Arguments that are not integers count for little, because numbers of similar size have nearly the same
// bits. For chunks chosen by the user, arguments are not recorded, and nothing is known of an iteration.
double growth_of(std::span<const std::uint64_t> before, std::span<const std::uint64_t> now) {
  const auto size = [](std::uint64_t bits) {
    return std::abs(static_cast<double>(static_cast<std::int64_t>(bits))) + 1;
  };
  if (before.size() != now.size()) return std::numeric_limits<double>::infinity();
  double growth = 1;
  for (std::size_t n = 0; n < now.size(); ++n) growth *= std::max(size(now[n]) / size(before[n]), 1.0);
  return growth * growth;
}

std::uint64_t whole(double iterations) {
  return static_cast<std::uint64_t>(std::clamp(iterations, 1.0, kMostIterations));
}

}  // namespace

std::uint64_t Pace::most_iterations(const Loop& loop) {
  Known& known = loops_[loop.label];
  if (!is_straight(loop)) {
    std::vector<std::uint64_t> arguments = arguments_of(loop);
    if (known.launched != 0 && arguments != known.arguments)
      start_again(loop.label, known, growth_of(known.arguments, arguments));
    known.arguments = std::move(arguments);
  }
  const std::lock_guard lock(mutex_);
  const Rate& rate = rates_[loop.label];
  if (rate.iterations != 0)
    return whole(rate.iterations * std::min(kMostInLaunch / std::max(rate.seconds, 1e-9), kGrowth));
  if (is_straight(loop)) return whole(kMostInLaunch / longest_iteration(loop));
  return std::max(known.trial, units_);
}

void Pace::start_again(std::uint64_t label, Known& known, double growth) {
  const std::lock_guard lock(mutex_);
  Rate& rate = rates_[label];
  if (rate.iterations != 0)
    known.trial = whole(rate.iterations * kTrialSeconds / std::max(rate.seconds, 1e-9));
  known.trial = whole(static_cast<double>(known.trial) / growth);
  rate.iterations = rate.seconds = 0;
  rate.ignored = known.launched;
}

double Pace::expected_seconds(const Loop& loop) const {
  const auto iterations = static_cast<double>(*loop.space.count());
  const std::lock_guard lock(mutex_);
  const auto found = rates_.find(loop.label);
  if (found != rates_.end() && found->second.iterations != 0)
    return iterations * found->second.seconds / found->second.iterations;
  return is_straight(loop) ? iterations * longest_iteration(loop) : kMostUnderWay;
}

void Pace::add_under_way(std::uint64_t position, double seconds) {
  under_way_.push_back({position, seconds});
  under_way_seconds_ += seconds;
}

std::optional<std::uint64_t> Pace::wait_before_next(std::uint64_t done) {
  while (!under_way_.empty() && under_way_.front().position <= done) {
    under_way_seconds_ -= under_way_.front().seconds;
    under_way_.pop_front();
  }
  if (under_way_.empty()) under_way_seconds_ = 0;
  if (under_way_seconds_ <= kMostUnderWay - kMostInLaunch) return std::nullopt;
  return under_way_.front().position;
}

void Pace::record(std::uint64_t label, std::uint64_t iterations, double seconds) {
  const std::lock_guard lock(mutex_);
  Rate& rate = rates_[label];
  if (++rate.recorded <= rate.ignored) return;
  // The rest of a loop, and other small launches, say little about larger ones, unless they take long.
  const auto count = static_cast<double>(iterations);
  if (4 * count < rate.iterations && seconds < rate.seconds) return;
  rate.iterations = count;
  rate.seconds = seconds;
}

}  // namespace dhpvm::offload
