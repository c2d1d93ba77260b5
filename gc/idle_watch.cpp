// SPDX-License-Identifier: Apache-2.0
#include "gc/idle_watch.h"

#include <algorithm>

namespace dhpvm::gc {
namespace {

using std::chrono::milliseconds;

// A program that occupies less is not collected.
constexpr std::size_t kWorthCollecting = std::size_t{8} << 20;
// The bytes allocated in a busy phase.
constexpr std::size_t kBusy = std::size_t{32} << 20;
// Allocating less than this per second counts as little: a busy program uses up a nursery a few times a second.
constexpr double kCalmRate = 40.0 * (1 << 20);
constexpr milliseconds kLook{100};
constexpr milliseconds kCalm{500};
constexpr milliseconds kShortestInterval{1000};
constexpr std::chrono::seconds kLongestInterval{60};
// Fruitless collections in a row after which a program that allocates nothing is left alone: it will not drop anything.
constexpr int kFruitlessTries = 3;

}  // namespace

// A sleep that ends before the collection would be prolonged by it. A wait for input may end at any moment: it must
// have lasted as long as the collection is expected to take, but at most kCalm: on a busy machine the last pause may
// have taken seconds, during which gigabytes would stay.
bool IdleWatch::has_time(Wait wait) const {
  return wait.time >= (wait.kind == WaitKind::kAhead ? pause_ : std::min<Clock::duration>(pause_, kCalm));
}

bool IdleWatch::due(Clock::time_point now, std::uint64_t allocated, std::size_t occupied, Wait wait) {
  const Clock::duration looked = now - look_begin_;
  if (looked < kLook) return false;
  const auto fast = static_cast<std::uint64_t>(kCalmRate * std::chrono::duration<double>(looked).count());
  if (look_begin_ == Clock::time_point{} || allocated - look_allocated_ > fast) calm_since_ = now;
  look_begin_ = now;
  look_allocated_ = allocated_ = allocated;
  if (occupied < kWorthCollecting || now - calm_since_ < kCalm || !has_time(wait)) return false;
  const std::uint64_t since = allocated - allocated_before_;
  // A busy phase has ended; what it has cost pays for one collection at once.
  if (since > std::max(kBusy, occupied_after_ / 2)) return true;
  // A long wait pays for a collection, too.
  if (wait.time != kRunning.time && wait.time / 20 > pause_ && since > kBusy / 32) return true;
  return now >= not_before_ && (since > kBusy / 32 || fruitless_ < kFruitlessTries);
}

void IdleWatch::collected(CollectionKind kind, CollectionReason reason, std::size_t before, std::size_t after,
                          Clock::time_point begin, Clock::time_point end) {
  if (kind == CollectionKind::kMinor) return;
  pause_ = end - begin;
  // A program that waited for a collection does not count as calm.
  look_begin_ = calm_since_ = end;
  if (reason != CollectionReason::kIdle) return;
  const bool paid = after < before - before / 4;
  fruitless_ = paid ? 0 : fruitless_ + 1;
  interval_ = paid ? kShortestInterval
                   : std::clamp<Clock::duration>(2 * interval_, kShortestInterval, kLongestInterval);
  not_before_ = end + std::max<Clock::duration>(interval_, 10 * pause_);
  allocated_before_ = allocated_;
  occupied_after_ = after;
}

}  // namespace dhpvm::gc
