// SPDX-License-Identifier: Apache-2.0
#include "gc/external_pressure.h"

#include <algorithm>

namespace dhpvm::gc {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;
constexpr std::size_t kYoungBytes = 64 * kMiB;
constexpr std::size_t kLiveBytes = 256 * kMiB;
constexpr std::size_t kImpatience = 4;

}  // namespace

std::optional<CollectionKind> ExternalPressure::due(Clock::time_point now) const {
  // The rate limit yields to a program that adds memory faster than the limit foresaw.
  const std::size_t patience = now < not_before_ ? kImpatience : 1;
  const std::size_t grown = live_after_full_ + live_after_full_ / 2;
  if (live_ / patience > std::max(kLiveBytes, grown)) return CollectionKind::kFull;
  // Above three quarters of the budget, but only if something was added since the last collection.
  if (budget_ != 0 && patience == 1 && live_ > budget_ - budget_ / 4 && young_ > budget_ / 16)
    return CollectionKind::kFull;
  const std::size_t young_limit =
      budget_ == 0 ? kYoungBytes : std::min(std::max(kYoungBytes, budget_ / 8), budget_ / 2);
  if (young_ / patience > young_limit) return CollectionKind::kMinor;
  return std::nullopt;
}

void ExternalPressure::collected(CollectionKind kind, CollectionReason reason, std::size_t live_before,
                                 Clock::time_point begin, Clock::time_point end) {
  young_ = 0;
  if (kind == CollectionKind::kFull) live_after_full_ = live_;
  if (reason != CollectionReason::kExternal) return;
  const std::size_t freed = live_before - std::min(live_before, live_);
  const bool paid = freed > std::max(budget_ / 10, kYoungBytes / 2);
  not_before_ = end + (end - begin) * (paid ? 9 : 19);
}

}  // namespace dhpvm::gc
