// SPDX-License-Identifier: Apache-2.0
#include "offload/schedule/pipeline/interval_set.h"

#include <gtest/gtest.h>

#include <random>

namespace dhpvm::offload {
namespace {

using Intervals = std::vector<Interval>;

TEST(IntervalSet, NeighboursBecomeOne) {
  IntervalSet set;
  set.add({10, 20});
  set.add({30, 40});
  set.add({20, 30});
  EXPECT_EQ(set.intervals(), (Intervals{{10, 40}}));
  set.remove({15, 20});
  EXPECT_EQ(set.intervals(), (Intervals{{10, 15}, {20, 40}}));
  EXPECT_EQ(set.missing({0, 50}), (Intervals{{0, 10}, {15, 20}, {40, 50}}));
  EXPECT_EQ(set.common({12, 22}), (Intervals{{12, 15}, {20, 22}}));
}

TEST(IntervalSet, NothingIsInEverything) {
  IntervalSet set;
  set.add({5, 5});
  EXPECT_TRUE(set.empty());
  EXPECT_TRUE(set.contains({7, 7}));
  EXPECT_FALSE(set.contains({7, 8}));
}

TEST(IntervalSet, IsASetOfNumbers) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 200; ++round) {
    IntervalSet set;
    std::vector<bool> model(64);
    for (int step = 0; step < 40; ++step) {
      const std::uint64_t begin = random() % 64;
      const std::uint64_t end = begin + random() % (65 - begin);
      const bool add = random() % 2 == 0;
      add ? set.add({begin, end}) : set.remove({begin, end});
      std::fill(model.begin() + static_cast<std::ptrdiff_t>(begin),
                model.begin() + static_cast<std::ptrdiff_t>(end), add);
      for (std::uint64_t i = 0; i < 64; ++i) ASSERT_EQ(set.contains({i, i + 1}), model[i]);
      std::uint64_t covered = 0;
      for (const Interval& part : set.missing({0, 64})) covered += part.size();
      for (const Interval& part : set.intervals()) covered += part.size();
      ASSERT_EQ(covered, 64u);
    }
  }
}

}  // namespace
}  // namespace dhpvm::offload
