// SPDX-License-Identifier: Apache-2.0
#include "offload/drivers/launch_grid.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "bytecode/module.h"
#include "codegen/device_code.h"
#include "codegen/group_work.h"

namespace dhpvm::offload {
namespace {

using codegen::Dealing;

IterationSpace space(std::int64_t rows, std::int64_t columns) {
  return {2, {-5, 3}, {rows - 5, columns + 3}};
}
IterationSpace line(std::int64_t length) { return {1, {7}, {7 + length}}; }

constexpr GridLimits kGpu = {256, 1000};
constexpr GridLimits kProcessor = {1, 8};
constexpr GridLimits kSingly = {64, 8};

TEST(LaunchGrid, CoversALine) {
  constexpr GridNeeds kNeeds;
  EXPECT_EQ(plan_grid(line(1), kNeeds, kGpu), (LaunchGrid{{1, 1, 1}, {1, 1, 1}}));
  EXPECT_EQ(plan_grid(line(100), kNeeds, kGpu), (LaunchGrid{{100, 1, 1}, {1, 1, 1}}));
  EXPECT_EQ(plan_grid(line(1000), kNeeds, kGpu), (LaunchGrid{{256, 1, 1}, {4, 1, 1}}));
  EXPECT_EQ(plan_grid(line(std::int64_t{1} << 40), kNeeds, kGpu), (LaunchGrid{{256, 1, 1}, {1000, 1, 1}}));
}

TEST(LaunchGrid, CoversAPlane) {
  constexpr GridNeeds kNeeds;
  EXPECT_EQ(plan_grid(space(500, 60), kNeeds, kGpu), (LaunchGrid{{60, 4, 1}, {1, 125, 1}}));
  EXPECT_EQ(plan_grid(space(500, 6000), kNeeds, kGpu), (LaunchGrid{{256, 1, 1}, {24, 41, 1}}));
  EXPECT_EQ(plan_grid(space(1 << 20, 1), kNeeds, {256, 1 << 20}), (LaunchGrid{{1, 256, 1}, {1, 4096, 1}}));
  EXPECT_EQ(plan_grid(space(std::int64_t{1} << 30, 1), kNeeds, {256, 1 << 20}),
            (LaunchGrid{{1, 256, 1}, {1, 65535, 1}}));
}

TEST(LaunchGrid, KeepsGroupsThin) {
  const IterationSpace deep = {3, {0, 0, 0}, {1000, 2, 1}};
  EXPECT_EQ(plan_grid(deep, {}, kGpu), (LaunchGrid{{1, 2, 63}, {1, 1, 16}}));
}

TEST(LaunchGrid, GivesEachRunOfLanesABlock) {
  GridNeeds needs = {.reductions = true, .group = codegen::kReductionGroup, .dealing = Dealing::kStrides};
  const std::int64_t block = bytecode::kReductionBlock;
  EXPECT_EQ(plan_grid(line(block), needs, kGpu), (LaunchGrid{{32, 1, 1}, {1, 1, 1}}));
  EXPECT_EQ(plan_grid(line(8 * block + 1), needs, kGpu), (LaunchGrid{{256, 1, 1}, {2, 1, 1}}));
  EXPECT_EQ(plan_grid(space(20, block + 1), needs, kGpu), (LaunchGrid{{256, 1, 1}, {5, 1, 1}}));
  EXPECT_EQ(plan_grid(line(9 * block), needs, {256, 1000, 4}), (LaunchGrid{{64, 1, 1}, {5, 1, 1}}))
      << "a group for each processor";
  EXPECT_EQ(plan_grid(line(9 * block), needs, {128, 2, 1}), (LaunchGrid{{128, 1, 1}, {2, 1, 1}}));
  needs.run = 8;
  EXPECT_EQ(plan_grid(line(9 * block), needs, {256, 1000, 132}), (LaunchGrid{{256, 1, 1}, {9, 1, 1}}))
      << "a group for each block";
  EXPECT_EQ(plan_grid(line(40), needs, {256, 1000, 132}), (LaunchGrid{{64, 1, 1}, {1, 1, 1}}));
  EXPECT_EQ(plan_grid(line(100 * block), needs, {256, 1000, 4}), (LaunchGrid{{256, 1, 1}, {13, 1, 1}}));
  needs = {.reductions = true, .group = 0, .dealing = Dealing::kRuns};
  EXPECT_EQ(plan_grid(line(5 * block), needs, kProcessor), (LaunchGrid{{1, 1, 1}, {5, 1, 1}}));
  EXPECT_EQ(plan_grid(line(50 * block), needs, kProcessor), (LaunchGrid{{1, 1, 1}, {8, 1, 1}}));
}

TEST(LaunchGrid, GivesTheShortEndOfARowToTheGroupBeforeIt) {
  const GridNeeds needs = {.reductions = true, .group = codegen::kReductionGroup, .run = 8};
  constexpr GridLimits kMany = {256, 1 << 20, 132};
  const std::int64_t block = bytecode::kReductionBlock;
  EXPECT_EQ(plan_grid(line(block + 1), needs, kMany), (LaunchGrid{{256, 1, 1}, {1, 1, 1}}));
  EXPECT_EQ(plan_grid(line(block + 255), needs, kMany), (LaunchGrid{{256, 1, 1}, {1, 1, 1}}));
  EXPECT_EQ(plan_grid(line(block + 256), needs, kMany), (LaunchGrid{{256, 1, 1}, {2, 1, 1}}))
      << "all of it work";
  EXPECT_EQ(plan_grid(space(3, 2 * block + 9), needs, kMany), (LaunchGrid{{256, 1, 1}, {6, 1, 1}}));
  EXPECT_EQ(plan_grid(line(block + 1), needs, {64, 1 << 20, 132}), (LaunchGrid{{64, 1, 1}, {2, 1, 1}}))
      << "a run for each block is no slower";
}

TEST(LaunchGrid, HasGroupsShareIterationsIfThereAreFew) {
  const GridNeeds needs = {.group = 256, .dealing = Dealing::kShared};
  constexpr GridLimits kMany = {256, 1 << 20, 132};
  EXPECT_EQ(plan_grid(line(1024), needs, kMany), (LaunchGrid{{256, 1, 1}, {1024, 1, 1}}));
  EXPECT_EQ(plan_grid(line(2), needs, kMany), (LaunchGrid{{256, 1, 1}, {1056, 1, 1}})) << "528 for each";
  EXPECT_EQ(plan_grid(line(100), needs, kMany), (LaunchGrid{{256, 1, 1}, {1000, 1, 1}}));
  EXPECT_EQ(plan_grid(line(2), needs, {64, 1 << 20, 132}), (LaunchGrid{{64, 1, 1}, {4224, 1, 1}}));
  EXPECT_EQ(plan_grid(line(2), needs, {256, 9, 132}), (LaunchGrid{{256, 1, 1}, {8, 1, 1}}));
  EXPECT_EQ(plan_grid(line(20), needs, {256, 9, 132}), (LaunchGrid{{256, 1, 1}, {9, 1, 1}}));
}

// A group's work-items work if there is a term for each of them in some block.
TEST(LaunchGrid, LetsMostWorkItemsOfReductionsWork) {
  const GridNeeds needs = {.reductions = true, .group = codegen::kReductionGroup, .run = 8};
  constexpr GridLimits kMany = {256, 1 << 20, 132};
  const std::int64_t block = bytecode::kReductionBlock;
  for (std::int64_t length = 1000; length <= 1'000'000; length += length < 3 * block ? 1 : 97) {
    const LaunchGrid grid = plan_grid(line(length), needs, kMany);
    const std::int64_t blocks = (length - 1) / block + 1;
    const std::int64_t group = grid.group[0];
    const std::int64_t last = length - (blocks - 1) * block;
    // A group whose last block is short had a long one before it, if it has two.
    const std::int64_t idle = grid.groups[0] < blocks || last >= group ? 0 : group - last;
    ASSERT_LE(idle * 5, group * grid.groups[0]) << length;
  }
}

TEST(LaunchGrid, HasAGroupForEachSquare) {
  constexpr GridNeeds kSquares = {.has_squares = true};
  constexpr GridLimits kMany = {256, 1 << 20, 132, true};
  EXPECT_EQ(plan_grid(space(4096, 4096), kSquares, kMany), (LaunchGrid{{16, 16, 1}, {64, 64, 1}}));
  EXPECT_EQ(plan_grid(space(4100, 4090), kSquares, kMany), (LaunchGrid{{16, 16, 1}, {64, 65, 1}}));
  EXPECT_EQ(plan_grid(space(4096, 4096), kSquares, {256, 1000, 132, true}),
            (LaunchGrid{{16, 16, 1}, {64, 15, 1}}));
  EXPECT_EQ(plan_grid({3, {0, 0, 0}, {5, 512, 512}}, kSquares, kMany), (LaunchGrid{{16, 16, 1}, {8, 8, 5}}));
  const LaunchGrid usual = plan_grid(space(4096, 4096), {}, kMany);
  EXPECT_EQ(plan_grid(space(4096, 4096), kSquares, {256, 1 << 20, 132}), usual) << "the device cannot";
  EXPECT_EQ(plan_grid(space(256, 256), kSquares, kMany), plan_grid(space(256, 256), {}, kMany))
      << "most processors would have none";
  EXPECT_EQ(plan_grid(space(4096, 65), kSquares, kMany), plan_grid(space(4096, 65), {}, kMany))
      << "most work-items of every other group would have nothing to do";
}

TEST(LaunchGrid, TellsHowManyRowsGoBySquares) {
  constexpr GridNeeds kSquares = {.has_squares = true};
  constexpr GridLimits kMany = {256, 1 << 20, 132, true};
  EXPECT_EQ(rows_for_squares(space(4096, 4096), kMany), 64U);
  EXPECT_EQ(rows_for_squares(space(4096, 1000), kMany), 192U)
      << "64 rows have 16 squares, for 132 processors";
  EXPECT_EQ(rows_for_squares(space(4096, 4096), {256, 1 << 20, 132}), 1U) << "the device cannot";
  EXPECT_EQ(rows_for_squares(space(256, 256), kMany), 1U) << "all of it is too little";
  EXPECT_EQ(rows_for_squares(space(4096, 65), kMany), 1U) << "columns are too few";
  EXPECT_EQ(rows_for_squares({3, {0, 0, 0}, {5, 512, 512}}, kMany), 1U)
      << "squares lie across the first dimension";
  for (const std::int64_t width : {64, 130, 320, 1000, 4096}) {
    const std::uint64_t unit = rows_for_squares(space(8192, width), kMany);
    if (unit == 1) continue;
    for (const std::uint64_t rows : {unit, 2 * unit, 3 * unit}) {
      const LaunchGrid grid = plan_grid(space(static_cast<std::int64_t>(rows), width), kSquares, kMany);
      EXPECT_EQ(grid.group[1], 16U) << rows << " x " << width;
    }
  }
}

TEST(LaunchGrid, TellsHowManyRowsFillADevice) {
  const GridLimits many = {256, 1 << 20, 132};
  const GridNeeds plain;
  EXPECT_EQ(rows_to_fill({1, {0}, {1'000'000}}, plain, many), 33'792U);
  EXPECT_EQ(rows_to_fill({1, {0}, {1000}}, plain, many), 1000U);
  EXPECT_EQ(rows_to_fill(space(4096, 1000), plain, many), 34U);
  EXPECT_EQ(rows_to_fill(space(4096, 100'000), plain, many), 1U);
  EXPECT_EQ(rows_to_fill(space(4096, 0), plain, many), 4096U);
  GridNeeds rows;
  rows.group = 256;
  rows.items = 8;
  EXPECT_EQ(rows_to_fill({1, {0}, {8192}}, rows, many), 4224U) << "a group of 32 rows for each processor";
  GridNeeds reductions;
  reductions.reductions = true;
  EXPECT_EQ(rows_to_fill({1, {0}, {1'000'000}}, reductions, many), 1U);
}

TEST(LaunchGrid, HasAGroupForEachProcessor) {
  constexpr GridLimits kMany = {256, 1 << 20, 132};
  EXPECT_EQ(plan_grid(line(4000), {}, kMany), (LaunchGrid{{32, 1, 1}, {125, 1, 1}}));
  EXPECT_EQ(plan_grid(line(9000), {}, kMany), (LaunchGrid{{64, 1, 1}, {141, 1, 1}}));
  EXPECT_EQ(plan_grid(space(1000, 1), {}, kMany), (LaunchGrid{{1, 32, 1}, {1, 32, 1}}));
  EXPECT_EQ(plan_grid(space(100, 130), {}, kMany), (LaunchGrid{{32, 2, 1}, {5, 50, 1}}));
  EXPECT_EQ(plan_grid(space(5000, 130), {}, kMany), (LaunchGrid{{130, 1, 1}, {1, 5000, 1}}));
}

TEST(LaunchGrid, MakesGroupsOfWholeWarpsForTiles) {
  constexpr GridLimits kMany = {128, 1 << 20, 132};
  GridNeeds needs = {.group = 128};
  EXPECT_EQ(plan_grid(line(20), needs, kMany), (LaunchGrid{{32, 1, 1}, {1, 1, 1}}));
  EXPECT_EQ(plan_grid(line(100), needs, kMany), (LaunchGrid{{32, 1, 1}, {4, 1, 1}}));
  EXPECT_EQ(plan_grid(line(100'000), needs, kMany), (LaunchGrid{{128, 1, 1}, {782, 1, 1}}));
  EXPECT_EQ(plan_grid(space(1000, 40), needs, kMany), (LaunchGrid{{64, 2, 1}, {1, 500, 1}}));
  needs.run = 32;
  EXPECT_EQ(plan_grid(space(1000, 40), needs, kMany), (LaunchGrid{{32, 1, 1}, {2, 32, 1}}));
  EXPECT_EQ(plan_grid(space(5000, 5000), needs, kMany), (LaunchGrid{{128, 1, 1}, {40, 157, 1}}));
}

// The share of the launched work-items that have an iteration.
double working(const LaunchGrid& grid, const IterationSpace& space) {
  double share = 1;
  for (unsigned axis = 0; axis < space.dimensions; ++axis) {
    const double launched = double{1} * grid.group[axis] * grid.groups[axis];
    share *= std::min(1.0, static_cast<double>(space.extent(space.inner() - axis)) / launched);
  }
  return share;
}

TEST(LaunchGrid, LeavesFewWorkItemsIdle) {
  constexpr GridLimits kMany = {256, 132 * 8 * 8, 132};
  for (std::int64_t extent = 100; extent <= 5000; ++extent) {
    for (const IterationSpace& each : {line(extent), space(extent, 1000), space(1000, extent),
                                       space(extent, extent), space(extent, 100), space(100, extent)}) {
      ASSERT_GE(working(plan_grid(each, {}, kMany), each), 0.8) << extent;
    }
  }
  const GridNeeds reduces = {.reductions = true, .group = codegen::kReductionGroup};
  for (std::int64_t iterations = 1000; iterations <= 1'000'000; iterations += 100) {
    const IterationSpace each = line(iterations);
    const LaunchGrid grid = plan_grid(each, reduces, kMany);
    const IterationSpace runs = line(static_cast<std::int64_t>(reduction_blocks(each)));
    const LaunchGrid grid_of_runs = {{grid.group[0] / 32, 1, 1}, grid.groups};
    ASSERT_GE(working(grid_of_runs, runs), 0.8) << iterations;
  }
}

using Pieces = std::vector<LaunchPiece>;

Pieces pieces_of(const IterationSpace& space, const GridLimits& limits) {
  return PiecePlanner().plan(space, limits);
}

TEST(LaunchPieces, AreGroupsAndWhatIsLeftOfThem) {
  EXPECT_EQ(pieces_of(line(1), kSingly), (Pieces{{}}));
  EXPECT_EQ(pieces_of(line(6400), kSingly), (Pieces{{{}, {6400, 1, 1}, {64, 1, 1}}}));
  EXPECT_EQ(pieces_of(line(1003), kSingly), (Pieces{{{}, {960, 1, 1}, {64, 1, 1}},
                                                    {{960, 0, 0}, {40, 1, 1}, {8, 1, 1}},
                                                    {{1000, 0, 0}, {3, 1, 1}, {1, 1, 1}}}));
  EXPECT_EQ(pieces_of(space(130, 9), {64, 1}),
            (Pieces{{{}, {8, 130, 1}, {8, 1, 1}}, {{8, 0, 0}, {1, 130, 1}, {1, 1, 1}}}))
      << "rows are few";
  EXPECT_EQ(pieces_of(space(1000, 8), {64, 1}), (Pieces{{{}, {8, 1000, 1}, {8, 8, 1}}}));
  EXPECT_EQ(pieces_of(space(1000, 3), {64, 1}),
            (Pieces{{{}, {3, 992, 1}, {3, 16, 1}}, {{0, 992, 0}, {3, 8, 1}, {3, 8, 1}}}));
}

TEST(LaunchPieces, HaveOnlyAFewWidths) {
  PiecePlanner planner;
  const auto widths = [&](std::int64_t columns) {
    std::vector<std::uint32_t> found;
    for (const LaunchPiece& piece : planner.plan(space(1024 * 256, columns), {256, 1}))
      found.push_back(piece.group[0]);
    return found;
  };
  using testing::ElementsAre;
  for (const std::uint32_t rest : {5u, 50u, 23u, 162u})
    EXPECT_THAT(widths(512 + rest), ElementsAre(256, rest)) << rest;
  EXPECT_THAT(widths(512 + 24), ElementsAre(256, 8));
  EXPECT_THAT(widths(512 + 155), ElementsAre(256, 64, 8, 1));
  EXPECT_THAT(widths(512 + 50), ElementsAre(256, 50)) << "this is one of them";
}

TEST(LaunchPieces, AreOneWhereAWidthDividesTheRows) {
  const GridLimits limits = {512, 8};
  EXPECT_EQ(pieces_of(space(998, 998), limits), (Pieces{{{}, {998, 998, 1}, {499, 1, 1}}}));
  EXPECT_EQ(pieces_of(line(4000), limits), (Pieces{{{}, {4000, 1, 1}, {500, 1, 1}}}))
      << "no more than each thread's share";
  EXPECT_EQ(pieces_of(space(997, 997), limits),
            (Pieces{{{}, {512, 997, 1}, {512, 1, 1}}, {{512, 0, 0}, {485, 997, 1}, {485, 1, 1}}}))
      << "nothing divides them";
  EXPECT_EQ(pieces_of(line(512 * 1000), limits), (Pieces{{{}, {512'000, 1, 1}, {512, 1, 1}}}));
}

TEST(LaunchPieces, TakeWidthsOfTheirOwnOnlyAFewTimes) {
  PiecePlanner planner;
  const auto width = [&](std::int64_t length) {
    return planner.plan(line(length), {256, 1}).front().group[0];
  };
  EXPECT_EQ(width(3 * 251), 251U) << "the first";
  for (const std::uint32_t own : {241u, 239u, 233u}) {
    EXPECT_EQ(width(3 * own), 256U) << "perhaps the only time";
    EXPECT_EQ(width(3 * own), own);
  }
  EXPECT_EQ(width(3 * 229), 256U);
  EXPECT_EQ(width(3 * 229), 256U);
  EXPECT_EQ(width(5 * 251), 256U);
  EXPECT_EQ(width(5 * 251), 251U) << "this is one of them";
}

TEST(LaunchPieces, LeaveEveryThreadItsShare) {
  EXPECT_EQ(pieces_of(line(8), kSingly), (Pieces{{{}, {8, 1, 1}, {1, 1, 1}}}));
  EXPECT_EQ(pieces_of(line(32), kSingly), (Pieces{{{}, {32, 1, 1}, {4, 1, 1}}}));
}

TEST(LaunchPieces, CoverEachIterationOnce) {
  constexpr std::uint64_t kExtents[] = {1, 2, 7, 8, 63, 65, 100};
  for (const std::uint64_t x : kExtents) {
    for (const std::uint64_t y : kExtents) {
      for (const std::uint64_t z : kExtents) {
        const IterationSpace box = {3,
                                    {1, -2, 3},
                                    {static_cast<std::int64_t>(z) + 1, static_cast<std::int64_t>(y) - 2,
                                     static_cast<std::int64_t>(x) + 3}};
        std::vector<unsigned char> times(x * y * z);
        for (const LaunchPiece& piece : pieces_of(box, kSingly)) {
          for (unsigned axis = 0; axis < 3; ++axis) ASSERT_EQ(piece.items[axis] % piece.group[axis], 0U);
          for (std::uint64_t k = 0; k < piece.items[2]; ++k) {
            for (std::uint64_t j = 0; j < piece.items[1]; ++j) {
              for (std::uint64_t i = 0; i < piece.items[0]; ++i)
                ++times[((piece.first[2] + k) * y + piece.first[1] + j) * x + piece.first[0] + i];
            }
          }
        }
        ASSERT_EQ(std::ranges::count(times, 1), static_cast<std::ptrdiff_t>(x * y * z))
            << x << " " << y << " " << z;
      }
    }
  }
}

}  // namespace
}  // namespace dhpvm::offload
