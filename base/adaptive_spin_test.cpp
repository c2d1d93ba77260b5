// SPDX-License-Identifier: Apache-2.0
#include "base/adaptive_spin.h"

#include <gtest/gtest.h>

namespace dhpvm {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

class Spin : public testing::Test {
 protected:
  // Waits that begin far in the future: no time passes in them.
  bool spins() { return spin_.again(next_ += std::chrono::hours(1)); }
  void sleep_shortly(unsigned times) {
    for (unsigned n = 0; n < times; ++n) {
      EXPECT_FALSE(spins()) << n;
      spin_.slept(microseconds(80));
    }
  }
  // Short sleeps until it spins.
  unsigned sleeps_before_spinning() {
    unsigned sleeps = 0;
    for (; !spins() && sleeps < 1000; ++sleeps) spin_.slept(microseconds(80));
    return sleeps;
  }
  void spin_in_vain() {
    while (spin_.is_spinning()) {
      EXPECT_TRUE(spins());
      spin_.slept(microseconds(300));
    }
  }

  AdaptiveSpin spin_;
  AdaptiveSpin::Clock::time_point next_ = AdaptiveSpin::Clock::now();
};

TEST_F(Spin, BeginsAfterShortSleeps) {
  sleep_shortly(AdaptiveSpin::kFirstPatience);
  EXPECT_TRUE(spins());
}

TEST_F(Spin, DoesNotBeginAfterLongSleeps) {
  for (int n = 0; n < 20; ++n) {
    sleep_shortly(AdaptiveSpin::kFirstPatience - 1);
    EXPECT_FALSE(spins());
    spin_.slept(milliseconds(1));
  }
}

TEST_F(Spin, EndsWhereItIsInVain) {
  sleep_shortly(AdaptiveSpin::kFirstPatience);
  EXPECT_TRUE(spins());
  spin_.slept(microseconds(300));
  EXPECT_FALSE(spins());
}

TEST_F(Spin, GoesOnWhereMostWaitsAreShort) {
  sleep_shortly(AdaptiveSpin::kFirstPatience);
  for (int n = 0; n < 8; ++n) EXPECT_TRUE(spins());
  for (int n = 0; n < 20; ++n) {
    EXPECT_TRUE(spins());
    spin_.slept(milliseconds(5));
    EXPECT_TRUE(spins());
    EXPECT_TRUE(spins());
  }
  spin_in_vain();
  EXPECT_FALSE(spins());
}

TEST_F(Spin, WaitsLongerEachTimeThatItWasInVain) {
  unsigned expected = AdaptiveSpin::kFirstPatience;
  for (int n = 0; n < 20; ++n) {
    EXPECT_EQ(sleeps_before_spinning(), expected);
    spin_.slept(microseconds(300));
    expected = std::min(2 * expected, AdaptiveSpin::kMostPatience);
  }
  // Until it has been of use again for a while.
  EXPECT_EQ(sleeps_before_spinning(), AdaptiveSpin::kMostPatience);
  for (int n = 0; n < 10; ++n) EXPECT_TRUE(spins());
  EXPECT_EQ(spin_.patience(), AdaptiveSpin::kFirstPatience);
}

TEST_F(Spin, EndsWhereOthersWantTheCore) {
  sleep_shortly(AdaptiveSpin::kFirstPatience);
  for (int n = 0; n < 20; ++n) EXPECT_TRUE(spins());
  spin_.yielded(microseconds(2));
  EXPECT_TRUE(spin_.is_spinning());
  spin_.yielded(milliseconds(3));
  EXPECT_FALSE(spin_.is_spinning());
  sleep_shortly(2 * AdaptiveSpin::kFirstPatience);
  EXPECT_TRUE(spins());
}

TEST_F(Spin, AsksUpToItsLimit) {
  sleep_shortly(AdaptiveSpin::kFirstPatience);
  EXPECT_FALSE(spin_.again(AdaptiveSpin::Clock::now() - AdaptiveSpin::kLongest));
  EXPECT_TRUE(spin_.is_spinning());
}

}  // namespace
}  // namespace dhpvm
