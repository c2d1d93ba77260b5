// SPDX-License-Identifier: Apache-2.0
#include "base/adaptive_spin.h"

#include <gtest/gtest.h>

namespace dhpvm {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

TEST(AdaptiveSpin, GrowsWithShortSleeps) {
  AdaptiveSpin spin;
  EXPECT_EQ(spin.limit(), microseconds(0));
  spin.slept(microseconds(20));
  EXPECT_EQ(spin.limit(), microseconds(5));
  spin.slept(microseconds(20));
  EXPECT_EQ(spin.limit(), microseconds(15));
  for (int n = 0; n < 10; ++n) spin.slept(microseconds(20));
  EXPECT_EQ(spin.limit(), AdaptiveSpin::kLongest);
}

TEST(AdaptiveSpin, EndsWithLongSleeps) {
  AdaptiveSpin spin;
  for (int n = 0; n < 10; ++n) spin.slept(microseconds(20));
  spin.slept(milliseconds(1));
  EXPECT_EQ(spin.limit(), AdaptiveSpin::kLongest / 2);
  for (int n = 0; n < 20; ++n) spin.slept(milliseconds(1));
  EXPECT_EQ(spin.limit(), microseconds(0));
}

TEST(AdaptiveSpin, EndsWhereOthersWantTheCore) {
  AdaptiveSpin spin;
  for (int n = 0; n < 10; ++n) spin.slept(microseconds(20));
  spin.yielded(microseconds(2));
  EXPECT_EQ(spin.limit(), AdaptiveSpin::kLongest);
  spin.yielded(milliseconds(3));
  EXPECT_EQ(spin.limit(), microseconds(0));
}

TEST(AdaptiveSpin, AsksUpToItsLimit) {
  AdaptiveSpin spin;
  const auto now = AdaptiveSpin::Clock::now();
  EXPECT_FALSE(spin.again(now));
  for (int n = 0; n < 10; ++n) spin.slept(microseconds(20));
  // Idle since a time to come: below every limit.
  EXPECT_TRUE(spin.again(now + std::chrono::hours(1)));
  EXPECT_FALSE(spin.again(now - milliseconds(1)));
}

}  // namespace
}  // namespace dhpvm
