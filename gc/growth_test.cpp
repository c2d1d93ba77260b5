// SPDX-License-Identifier: Apache-2.0
#include "gc/growth.h"

#include <gtest/gtest.h>

namespace dhpvm::gc {
namespace {

using std::chrono::milliseconds;
constexpr std::size_t kMiB = std::size_t{1} << 20;

// The growth that a heap of `live` bytes settles at, if each MiB of growth takes `step` and a collection `pause`.
std::size_t settled(std::size_t live, milliseconds step, milliseconds pause) {
  Growth growth(1.0);
  Growth::Clock::time_point now = Growth::Clock::now();
  for (int i = 0; i < 50; ++i) {
    const std::size_t grown = growth.bytes(live);
    now += step * static_cast<int>(grown / kMiB);
    growth.collected(grown, now, now + pause);
    now += pause;
  }
  return growth.bytes(live);
}

TEST(Growth, BeginsAtTheBoundOfSmallHeaps) { EXPECT_EQ(Growth(1.0).bytes(0), 32 * kMiB); }

TEST(Growth, FollowsTheCostOfCollections) {
  // Collections of 10 ms, each 400 ms: a fortieth.
  EXPECT_NEAR(static_cast<double>(settled(64 * kMiB, milliseconds(10), milliseconds(10))), 40.0 * kMiB,
              2.0 * kMiB);
  // Dear ones, up to what the live data allow; cheap ones, down to a quarter of it.
  EXPECT_EQ(settled(64 * kMiB, milliseconds(1), milliseconds(10)), 64 * kMiB);
  EXPECT_EQ(settled(64 * kMiB, milliseconds(100), milliseconds(10)), 16 * kMiB);
  EXPECT_EQ(settled(1024 * kMiB, milliseconds(1), milliseconds(250)), 512 * kMiB);
  EXPECT_EQ(settled(kMiB, milliseconds(1), milliseconds(10)), 32 * kMiB);
}

TEST(Growth, IsScaled) {
  Growth growth(0.5);
  const auto now = Growth::Clock::now() + milliseconds(1);
  growth.collected(512 * kMiB, now, now + milliseconds(1000));
  EXPECT_EQ(growth.bytes(1024 * kMiB), 256 * kMiB);
}

}  // namespace
}  // namespace dhpvm::gc
