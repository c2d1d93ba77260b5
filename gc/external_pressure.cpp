// SPDX-License-Identifier: Apache-2.0
#include "gc/external_pressure.h"

#include <algorithm>

namespace dhpvm::gc {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;
// A collection of a small heap takes as long as clearing a few hundred KiB.
constexpr std::size_t kLeastYoung = 16 * kMiB;
constexpr std::size_t kMostYoung = 64 * kMiB;
constexpr std::size_t kLeastLive = 256 * kMiB;
constexpr std::size_t kImpatience = 4;

}  // namespace

ExternalPressure::ExternalPressure(std::size_t budget) : budget_(budget), young_limit_(least_young()) {}

std::size_t ExternalPressure::least_young() const {
  return budget_ == 0 ? kLeastYoung : std::min(kLeastYoung, budget_ / 2);
}
std::size_t ExternalPressure::most_young() const {
  return budget_ == 0 ? kMostYoung : std::min(std::max(kMostYoung, budget_ / 8), budget_ / 2);
}

std::optional<CollectionKind> ExternalPressure::due(Clock::time_point now) const {
  // The rate limit yields to a program that adds memory faster than the limit foresaw.
  const std::size_t patience = now < not_before_ ? kImpatience : 1;
  const std::size_t grown = live_after_full_ + live_after_full_ / 2;
  if (live_ / patience > std::max(kLeastLive, grown)) return CollectionKind::kFull;
  // Above three quarters of the budget, but only if enough was added since the last collection.
  if (budget_ != 0 && patience == 1 && live_ > budget_ - budget_ / 4 && young_ > budget_ / 16)
    return CollectionKind::kFull;
  if (young_ / patience > (patience == 1 ? young_limit_ : most_young())) return CollectionKind::kMinor;
  return std::nullopt;
}

void ExternalPressure::collected(CollectionKind kind, CollectionReason reason, std::size_t live_before,
                                 Clock::time_point begin, Clock::time_point end) {
  const std::size_t freed = live_before - std::min(live_before, live_);
  if (young_ != 0) {
    young_limit_ = freed >= young_ / 2 ? least_young() : std::min(young_limit_ * 2, most_young());
  }
  young_ = 0;
  if (kind == CollectionKind::kFull) live_after_full_ = live_;
  if (reason != CollectionReason::kExternal) return;
  const bool paid = freed > std::max(budget_ / 10, kMostYoung / 2);
  not_before_ = end + (end - begin) * (paid ? 9 : 19);
}

}  // namespace dhpvm::gc
