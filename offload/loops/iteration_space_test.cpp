// SPDX-License-Identifier: Apache-2.0
#include "offload/loops/iteration_space.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <vector>

namespace dhpvm::offload {
namespace {

using Index = std::array<std::int64_t, 3>;

void append(std::vector<Index>& all, const IterationSpace& box) {
  IterationSpace filled = box;
  for (unsigned d = box.dimensions; d < 3; ++d) filled.low[d] = 0, filled.high[d] = 1;
  Index i;
  for (i[0] = filled.low[0]; i[0] < filled.high[0]; ++i[0]) {
    for (i[1] = filled.low[1]; i[1] < filled.high[1]; ++i[1]) {
      for (i[2] = filled.low[2]; i[2] < filled.high[2]; ++i[2]) all.push_back(i);
    }
  }
}

std::vector<Index> all_of(const IterationSpace& space) {
  std::vector<Index> all;
  append(all, space);
  return all;
}

IterationSpace random_space(std::mt19937& random) {
  IterationSpace space;
  space.dimensions = 1 + static_cast<unsigned>(random() % 3);
  const unsigned sizes[] = {200, 24, 9};
  for (unsigned d = 0; d < space.dimensions; ++d) {
    space.low[d] = static_cast<std::int64_t>(random() % 100) - 50;
    space.high[d] = space.low[d] + 1 + static_cast<std::int64_t>(random() % sizes[space.dimensions - 1]);
  }
  return space;
}

std::uint64_t blocks_in(const IterationSpace& box, std::uint64_t unit) {
  const std::uint64_t row = box.extent(box.inner());
  return *box.count() / row * ((row + unit - 1) / unit);
}

TEST(IterationSpace, CountsUpToTwoToThe63) {
  constexpr auto kMin = std::numeric_limits<std::int64_t>::min();
  constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ((IterationSpace{1, {5}, {5}}.count()), 0u);
  EXPECT_EQ((IterationSpace{1, {5}, {-7}}.count()), 0u);
  EXPECT_EQ((IterationSpace{1, {kMax}, {kMin}}.count()), 0u);
  EXPECT_EQ((IterationSpace{1, {0}, {kMax}}.count()), static_cast<std::uint64_t>(kMax));
  EXPECT_EQ((IterationSpace{1, {-1}, {kMax}}.count()), std::nullopt);
  EXPECT_EQ((IterationSpace{1, {kMin}, {kMax}}.count()), std::nullopt);
  EXPECT_EQ((IterationSpace{2, {0, 0}, {1 << 30, 1 << 30}}.count()), std::uint64_t{1} << 60);
  EXPECT_EQ((IterationSpace{3, {0, 0, 0}, {1 << 30, 1 << 30, 8}}.count()), std::nullopt);
  EXPECT_EQ((IterationSpace{3, {0, 0, 0}, {kMax, kMax, kMax}}.count()), std::nullopt);
  // However large the others, an empty dimension leaves nothing.
  EXPECT_EQ((IterationSpace{3, {0, 0, 0}, {kMax, kMax, 0}}.count()), 0u);
}

TEST(IterationSpace, ChunksAreTheSpaceInOrder) {
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    const IterationSpace space = random_space(random);
    const std::uint64_t iterations = 1 + random() % 300;
    const std::uint64_t unit = 1 + random() % 16;
    const Chunking chunking(space, iterations, unit);
    std::vector<Index> all;
    std::uint64_t blocks = 0;
    for (std::uint64_t i = 0; i < chunking.count(); ++i) {
      const IterationSpace box = chunking.chunk(i);
      ASSERT_FALSE(box.empty());
      ASSERT_LE(*box.count(), std::max(iterations, unit));
      // A cut within a row lies at a multiple of the unit.
      ASSERT_EQ(static_cast<std::uint64_t>(box.low[box.inner()] - space.low[box.inner()]) % unit, 0u);
      ASSERT_EQ(chunking.blocks_before(i), blocks);
      blocks += blocks_in(box, unit);
      append(all, box);
    }
    ASSERT_EQ(chunking.blocks_before(chunking.count()), blocks);
    ASSERT_EQ(all, all_of(space));
  }
}

TEST(IterationSpace, WhatIsTakenBoxByBoxIsTheSpaceInOrder) {
  std::mt19937 random(2);
  for (int round = 0; round < 2000; ++round) {
    const IterationSpace space = random_space(random);
    const std::uint64_t unit = 1 + random() % 16;
    std::vector<Index> all;
    for (RemainingSpace remaining(space); !remaining.empty();) {
      const IterationSpace box = remaining.take(1 + random() % 100, unit);
      ASSERT_EQ(static_cast<std::uint64_t>(box.low[box.inner()] - space.low[box.inner()]) % unit, 0u);
      append(all, box);
    }
    ASSERT_EQ(all, all_of(space));
  }
}

TEST(IterationSpace, HugeSpacesAreCutWithoutOverflow) {
  constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
  constexpr auto kMin = std::numeric_limits<std::int64_t>::min();
  const IterationSpace space{1, {kMin}, {-1}};
  const Chunking chunking(space, std::uint64_t{1} << 48, 4096);
  EXPECT_EQ(chunking.count(), std::uint64_t{1} << 15);
  EXPECT_EQ(chunking.chunk(0).low[0], kMin);
  EXPECT_EQ(chunking.chunk(chunking.count() - 1).high[0], -1);
  const IterationSpace tail{1, {kMax - 10}, {kMax}};
  EXPECT_EQ(Chunking(tail, 4096, 4096).chunk(0).high[0], kMax);
}

}  // namespace
}  // namespace dhpvm::offload
