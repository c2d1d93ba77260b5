// SPDX-License-Identifier: Apache-2.0
#include "gc/pause_histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace dhpvm::gc {
namespace {

TEST(PauseHistogram, IsEmptyAtFirst) {
  const PauseHistogram histogram;
  EXPECT_EQ(histogram.count(), 0u);
  EXPECT_EQ(histogram.percentile_ns(0.99), 0u);
}

TEST(PauseHistogram, PercentilesAreWithinSixPercentAndNeverTooLow) {
  PauseHistogram histogram;
  std::vector<std::uint64_t> pauses;
  std::mt19937_64 random(5);
  for (int i = 0; i < 10'000; ++i) {
    pauses.push_back(random() >> (24 + random() % 30));
    histogram.add(pauses.back());
  }
  std::sort(pauses.begin(), pauses.end());
  for (const double fraction : {0.1, 0.5, 0.9, 0.99, 1.0}) {
    const std::uint64_t exact = pauses[static_cast<std::size_t>(fraction * 10'000) - 1];
    EXPECT_GE(histogram.percentile_ns(fraction), exact);
    EXPECT_LE(static_cast<double>(histogram.percentile_ns(fraction)), static_cast<double>(exact) * 1.0625);
  }
  EXPECT_EQ(histogram.max_ns(), pauses.back());
  EXPECT_EQ(histogram.percentile_ns(1.0), pauses.back());
}

TEST(PauseHistogram, TakesEnormousPauses) {
  PauseHistogram histogram;
  histogram.add(UINT64_MAX);
  EXPECT_EQ(histogram.max_ns(), UINT64_MAX);
  EXPECT_EQ(histogram.count(), 1u);
}

}  // namespace
}  // namespace dhpvm::gc
