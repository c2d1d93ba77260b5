// SPDX-License-Identifier: Apache-2.0
#include "offload/device/driver/launch_grid.h"

#include <gtest/gtest.h>

#include "bytecode/module.h"
#include "codegen/device_code.h"

namespace dhpvm::offload {
namespace {

IterationSpace space(std::int64_t rows, std::int64_t columns) {
  return {2, {-5, 3}, {rows - 5, columns + 3}};
}
IterationSpace line(std::int64_t length) { return {1, {7}, {7 + length}}; }

constexpr GridLimits kGpu = {256, 1000};
constexpr GridLimits kProcessor = {1, 8};

TEST(LaunchGrid, CoversALine) {
  constexpr GridNeeds kNeeds;
  EXPECT_EQ(plan_grid(line(1), kNeeds, kGpu), (LaunchGrid{{1, 1, 1}, {1, 1, 1}}));
  EXPECT_EQ(plan_grid(line(100), kNeeds, kGpu), (LaunchGrid{{128, 1, 1}, {1, 1, 1}}));
  EXPECT_EQ(plan_grid(line(1000), kNeeds, kGpu), (LaunchGrid{{256, 1, 1}, {4, 1, 1}}));
  EXPECT_EQ(plan_grid(line(std::int64_t{1} << 40), kNeeds, kGpu), (LaunchGrid{{256, 1, 1}, {1000, 1, 1}}));
}

TEST(LaunchGrid, CoversAPlane) {
  constexpr GridNeeds kNeeds;
  EXPECT_EQ(plan_grid(space(500, 60), kNeeds, kGpu), (LaunchGrid{{64, 4, 1}, {1, 125, 1}}));
  EXPECT_EQ(plan_grid(space(500, 6000), kNeeds, kGpu), (LaunchGrid{{256, 1, 1}, {24, 41, 1}}));
  EXPECT_EQ(plan_grid(space(1 << 20, 1), kNeeds, {256, 1 << 20}), (LaunchGrid{{1, 256, 1}, {1, 4096, 1}}));
  EXPECT_EQ(plan_grid(space(std::int64_t{1} << 30, 1), kNeeds, {256, 1 << 20}),
            (LaunchGrid{{1, 256, 1}, {1, 65535, 1}}));
}

TEST(LaunchGrid, KeepsGroupsThin) {
  const IterationSpace deep = {3, {0, 0, 0}, {1000, 2, 1}};
  EXPECT_EQ(plan_grid(deep, {}, kGpu), (LaunchGrid{{1, 2, 64}, {1, 1, 16}}));
}

TEST(LaunchGrid, CutsRunsFromTheOutermostDimension) {
  constexpr GridNeeds kNeeds = {.reductions = false, .group = 0, .runs = true};
  EXPECT_EQ(plan_grid(line(1'000'000), kNeeds, kProcessor), (LaunchGrid{{1, 1, 1}, {8, 1, 1}}));
  EXPECT_EQ(plan_grid(space(500, 60), kNeeds, kProcessor), (LaunchGrid{{1, 1, 1}, {1, 8, 1}}));
  EXPECT_EQ(plan_grid(space(3, 60), kNeeds, kProcessor), (LaunchGrid{{1, 1, 1}, {2, 3, 1}}));
}

TEST(LaunchGrid, GivesEachRunOfLanesABlock) {
  GridNeeds needs = {.reductions = true, .group = codegen::kReductionGroup, .runs = false};
  const std::int64_t block = bytecode::kReductionBlock;
  EXPECT_EQ(plan_grid(line(block), needs, kGpu), (LaunchGrid{{256, 1, 1}, {1, 1, 1}}));
  EXPECT_EQ(plan_grid(line(8 * block + 1), needs, kGpu), (LaunchGrid{{256, 1, 1}, {2, 1, 1}}));
  EXPECT_EQ(plan_grid(space(20, block + 1), needs, kGpu), (LaunchGrid{{256, 1, 1}, {5, 1, 1}}));
  needs = {.reductions = true, .group = 0, .runs = true};
  EXPECT_EQ(plan_grid(line(5 * block), needs, kProcessor), (LaunchGrid{{1, 1, 1}, {5, 1, 1}}));
  EXPECT_EQ(plan_grid(line(50 * block), needs, kProcessor), (LaunchGrid{{1, 1, 1}, {8, 1, 1}}));
}

}  // namespace
}  // namespace dhpvm::offload
