// SPDX-License-Identifier: Apache-2.0
#include "gc/external_pressure.h"

#include <gtest/gtest.h>

namespace dhpvm::gc {
namespace {

using namespace std::chrono_literals;
constexpr std::size_t kMiB = std::size_t{1} << 20;
constexpr ExternalPressure::Clock::time_point kStart{1000s};

TEST(ExternalPressure, YoungBytesCallForAMinorCollection) {
  ExternalPressure pressure(0);
  pressure.add(16 * kMiB);
  EXPECT_EQ(pressure.due(kStart), std::nullopt);
  pressure.add(1);
  EXPECT_EQ(pressure.due(kStart), CollectionKind::kMinor);
  pressure.collected(CollectionKind::kMinor, CollectionReason::kNursery, pressure.live(), kStart,
                     kStart + 1ms);
  EXPECT_EQ(pressure.due(kStart + 1ms), std::nullopt);
}

TEST(ExternalPressure, CollectionsInVainBecomeRare) {
  ExternalPressure pressure(0);
  const auto after_in_vain = [&] {
    pressure.collected(CollectionKind::kMinor, CollectionReason::kNursery, pressure.live(), kStart, kStart);
  };
  std::size_t expected = 16 * kMiB;
  for (int i = 0; i < 4; ++i) {
    pressure.remove(pressure.live());
    pressure.add(expected);
    EXPECT_EQ(pressure.due(kStart), std::nullopt) << expected;
    pressure.add(1);
    EXPECT_NE(pressure.due(kStart), std::nullopt) << expected;
    after_in_vain();
    expected = std::min(2 * expected, 64 * kMiB);
  }
  // One that frees half of what was new brings the early ones back.
  pressure.remove(pressure.live());
  pressure.add(40 * kMiB);
  const std::size_t before = pressure.live();
  pressure.remove(20 * kMiB);
  pressure.collected(CollectionKind::kMinor, CollectionReason::kNursery, before, kStart, kStart);
  pressure.add(16 * kMiB + 1);
  EXPECT_EQ(pressure.due(kStart), CollectionKind::kMinor);
}

TEST(ExternalPressure, GrowthCallsForAFullCollection) {
  ExternalPressure pressure(0);
  pressure.add(400 * kMiB);
  EXPECT_EQ(pressure.due(kStart), CollectionKind::kFull);
  pressure.collected(CollectionKind::kFull, CollectionReason::kRequested, pressure.live(), kStart,
                     kStart + 1ms);
  // All of it survived: the next one is due at 600 MiB.
  pressure.add(200 * kMiB);
  EXPECT_EQ(pressure.due(kStart + 1s), CollectionKind::kMinor);
  pressure.add(1);
  EXPECT_EQ(pressure.due(kStart + 1s), CollectionKind::kFull);
}

TEST(ExternalPressure, TimeIsLimitedWhenCollectionsFreeLittle) {
  ExternalPressure pressure(0);
  pressure.add(100 * kMiB);
  const auto end = kStart + 10ms;
  pressure.collected(CollectionKind::kMinor, CollectionReason::kExternal, pressure.live(), kStart, end);
  pressure.add(100 * kMiB);
  EXPECT_EQ(pressure.due(end + 189ms), std::nullopt);
  EXPECT_EQ(pressure.due(end + 190ms), CollectionKind::kMinor);
}

TEST(ExternalPressure, TwiceTheTimeWhenTheyFreeMuch) {
  ExternalPressure pressure(0);
  pressure.add(100 * kMiB);
  const std::size_t before = pressure.live();
  pressure.remove(90 * kMiB);  // by cleaners
  const auto end = kStart + 10ms;
  pressure.collected(CollectionKind::kMinor, CollectionReason::kExternal, before, kStart, end);
  pressure.add(100 * kMiB);
  EXPECT_EQ(pressure.due(end + 89ms), std::nullopt);
  EXPECT_EQ(pressure.due(end + 90ms), CollectionKind::kMinor);
}

TEST(ExternalPressure, TheRateLimitYieldsToAFlood) {
  ExternalPressure pressure(0);
  pressure.add(100 * kMiB);
  const auto end = kStart + 10ms;
  pressure.collected(CollectionKind::kMinor, CollectionReason::kExternal, pressure.live(), kStart, end);
  pressure.add(256 * kMiB);
  EXPECT_EQ(pressure.due(end), std::nullopt);
  pressure.add(4 * kMiB);
  EXPECT_EQ(pressure.due(end), CollectionKind::kMinor);
}

TEST(ExternalPressure, CollectionsForOtherReasonsAreFree) {
  ExternalPressure pressure(0);
  pressure.collected(CollectionKind::kFull, CollectionReason::kNursery, 0, kStart, kStart + 10s);
  pressure.add(100 * kMiB);
  EXPECT_EQ(pressure.due(kStart + 10s), CollectionKind::kMinor);
}

TEST(ExternalPressure, ASmallBudgetIsWatchedClosely) {
  ExternalPressure pressure(8 * kMiB);
  pressure.add(3 * kMiB);
  EXPECT_EQ(pressure.due(kStart), std::nullopt);
  pressure.add(2 * kMiB);
  EXPECT_EQ(pressure.due(kStart), CollectionKind::kMinor);
  pressure.add(2 * kMiB);
  EXPECT_EQ(pressure.due(kStart), CollectionKind::kFull);
}

TEST(ExternalPressure, RemovingTooMuchIsHarmless) {
  ExternalPressure pressure(0);
  pressure.add(10);
  pressure.remove(20);
  EXPECT_EQ(pressure.live(), 0u);
}

}  // namespace
}  // namespace dhpvm::gc
