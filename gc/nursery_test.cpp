// SPDX-License-Identifier: Apache-2.0
#include "gc/nursery.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <vector>

namespace dhpvm::gc {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

using ShareOf = std::function<double(std::size_t bytes)>;  // what survives in a nursery of so many bytes

// The sizes of so many minor collections of a heap with 1 GiB of live objects that die old, and few holes.
std::vector<std::size_t> run(Nursery& nursery, int collections, const ShareOf& share) {
  std::vector<std::size_t> sizes;
  for (int i = 0; i < collections; ++i) {
    const std::size_t bytes = nursery.bytes();
    sizes.push_back(bytes);
    nursery.minor_collected(bytes, static_cast<std::size_t>(share(bytes) * static_cast<double>(bytes)),
                            256 * kMiB);
  }
  return sizes;
}

Nursery nursery_of_large_heap() {
  Nursery nursery(0, 0);
  nursery.full_collected(100 * kMiB, 90 * kMiB);
  return nursery;
}

TEST(Nursery, IsNotLargerThanItGains) {
  Nursery nursery = nursery_of_large_heap();
  const auto sizes = run(nursery, 400, [](std::size_t) { return 0.125; });
  EXPECT_EQ(nursery.bytes(), 8 * kMiB);
  EXPECT_LE(*std::max_element(sizes.begin(), sizes.end()), 16 * kMiB);
}

TEST(Nursery, IsAsLargeAsObjectsLive) {
  // Trees of 24 MiB, each dropped when it is complete.
  const auto share = [](std::size_t bytes) {
    return std::min(1.0, 12.0 * kMiB / static_cast<double>(bytes));
  };
  Nursery nursery = nursery_of_large_heap();
  run(nursery, 100, share);
  EXPECT_EQ(nursery.bytes(), 64 * kMiB);
}

TEST(Nursery, FillsTheRoomAtMost) {
  Nursery nursery = nursery_of_large_heap();
  for (int i = 0; i < 400; ++i) {
    const double share = std::min(1.0, 12.0 * kMiB / static_cast<double>(nursery.bytes()));
    nursery.minor_collected(
        nursery.bytes(), static_cast<std::size_t>(share * static_cast<double>(nursery.bytes())), 48 * kMiB);
  }
  EXPECT_EQ(nursery.bytes(), 32 * kMiB);
}

TEST(Nursery, StaysSmallWhileAHeapJustGrows) {
  Nursery nursery(0, 0);
  nursery.full_collected(100 * kMiB, 0);
  const auto sizes = run(nursery, 1000, [](std::size_t) { return 1.0; });
  EXPECT_LE(*std::max_element(sizes.begin(), sizes.end()), 8 * kMiB);
}

TEST(Nursery, TriesSeldom) {
  for (const double share : {0.7, 1.0}) {
    Nursery nursery = nursery_of_large_heap();
    const auto sizes = run(nursery, 2000, [&](std::size_t) { return share; });
    const std::size_t usual = nursery.bytes();
    EXPECT_EQ(usual, 8 * kMiB);
    EXPECT_LT(std::count_if(sizes.begin(), sizes.end(), [&](std::size_t size) { return size > usual; }), 20);
  }
}

// A program that allocates on while its nursery is marked in parts is not taken for one that keeps more.
TEST(Nursery, CountsWhatWasAllocatedMeanwhile) {
  Nursery nursery = nursery_of_large_heap();
  for (int i = 0; i < 400; ++i) {
    const std::size_t allocated = nursery.bytes() * 3 / 2;
    nursery.minor_collected(allocated, allocated / 8, 256 * kMiB);
  }
  EXPECT_EQ(nursery.bytes(), 8 * kMiB);
}

TEST(Nursery, FollowsAProgramThatChanges) {
  Nursery nursery = nursery_of_large_heap();
  run(nursery, 100, [](std::size_t) { return 0.1; });
  ASSERT_EQ(nursery.bytes(), 8 * kMiB);
  run(nursery, 100, [](std::size_t bytes) { return bytes < 32 * kMiB ? 0.9 : 0.1; });
  EXPECT_EQ(nursery.bytes(), 32 * kMiB);
  run(nursery, 20, [](std::size_t) { return 0.001; });
  EXPECT_EQ(nursery.bytes(), kMiB / 2);
}

TEST(Nursery, IsSmallOnlyWhereHardlyAnythingSurvives) {
  // A small heap, for which no other size is tried, grows first and then replaces its objects.
  Nursery nursery(0, 0);
  const auto run_small = [&](int collections, double share) {
    for (int i = 0; i < collections; ++i)
      nursery.minor_collected(
          nursery.bytes(), static_cast<std::size_t>(share * static_cast<double>(nursery.bytes())), kMiB / 4);
  };
  run_small(20, 0.9);
  EXPECT_EQ(nursery.bytes(), 8 * kMiB);
  run_small(20, 0.5);
  EXPECT_EQ(nursery.bytes(), 8 * kMiB);
  run_small(20, 0.001);
  EXPECT_EQ(nursery.bytes(), kMiB / 2);
  run_small(20, 0.05);
  EXPECT_EQ(nursery.bytes(), kMiB / 2);
  run_small(1, 0.5);
  EXPECT_EQ(nursery.bytes(), 8 * kMiB);
}

TEST(Nursery, KeepsItsBounds) {
  Nursery fixed(3 * kMiB, 0);
  run(fixed, 100, [](std::size_t) { return 0.9; });
  EXPECT_EQ(fixed.bytes(), 3 * kMiB);
  Nursery small(0, kMiB);
  small.full_collected(kMiB, kMiB);
  run(small, 100, [](std::size_t) { return 0.9; });
  EXPECT_EQ(small.bytes(), kMiB);
}

}  // namespace
}  // namespace dhpvm::gc
