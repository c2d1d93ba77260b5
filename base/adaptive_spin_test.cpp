// SPDX-License-Identifier: Apache-2.0
#include "base/adaptive_spin.h"

#include <gtest/gtest.h>

namespace dhpvm {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// Time passes only where a test says so: on a busy machine, others may take the core at any moment.
struct TestCore {
  static inline std::chrono::steady_clock::time_point time;
  static inline std::chrono::microseconds yield_takes{0};
  static std::chrono::steady_clock::time_point now() { return time; }
  static void yield() { time += yield_takes; }
};
using TestedSpin = BasicAdaptiveSpin<TestCore>;

class Spin : public testing::Test {
 protected:
  void SetUp() override { TestCore::yield_takes = microseconds(0); }

  // Asks at the beginning of a new wait.
  bool spins() {
    TestCore::time += milliseconds(1);
    return spin_.again(TestCore::time);
  }
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

  TestedSpin spin_;
};

TEST_F(Spin, BeginsAfterShortSleeps) {
  sleep_shortly(TestedSpin::kFirstPatience);
  EXPECT_TRUE(spins());
}

TEST_F(Spin, DoesNotBeginAfterLongSleeps) {
  for (int n = 0; n < 20; ++n) {
    sleep_shortly(TestedSpin::kFirstPatience - 1);
    EXPECT_FALSE(spins());
    spin_.slept(milliseconds(1));
  }
}

TEST_F(Spin, EndsWhereItIsInVain) {
  sleep_shortly(TestedSpin::kFirstPatience);
  EXPECT_TRUE(spins());
  spin_.slept(microseconds(300));
  EXPECT_FALSE(spins());
}

TEST_F(Spin, GoesOnWhereMostWaitsAreShort) {
  sleep_shortly(TestedSpin::kFirstPatience);
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
  unsigned expected = TestedSpin::kFirstPatience;
  for (int n = 0; n < 20; ++n) {
    EXPECT_EQ(sleeps_before_spinning(), expected);
    spin_.slept(microseconds(300));
    expected = std::min(2 * expected, TestedSpin::kMostPatience);
  }
  // Until it has been of use again for a while.
  EXPECT_EQ(sleeps_before_spinning(), TestedSpin::kMostPatience);
  for (int n = 0; n < 10; ++n) EXPECT_TRUE(spins());
  EXPECT_EQ(spin_.patience(), TestedSpin::kFirstPatience);
}

TEST_F(Spin, EndsWhereOthersWantTheCore) {
  sleep_shortly(TestedSpin::kFirstPatience);
  for (int n = 0; n < 20; ++n) EXPECT_TRUE(spins());
  TestCore::yield_takes = microseconds(2);
  EXPECT_TRUE(spins());
  EXPECT_TRUE(spin_.is_spinning());
  TestCore::yield_takes = milliseconds(3);
  EXPECT_TRUE(spins());
  EXPECT_FALSE(spin_.is_spinning());
  sleep_shortly(2 * TestedSpin::kFirstPatience);
  EXPECT_TRUE(spins());
}

TEST_F(Spin, AsksUpToItsLimit) {
  sleep_shortly(TestedSpin::kFirstPatience);
  EXPECT_FALSE(spin_.again(TestCore::time - TestedSpin::kLongest));
  EXPECT_TRUE(spin_.is_spinning());
}

}  // namespace
}  // namespace dhpvm
