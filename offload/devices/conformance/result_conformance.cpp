// SPDX-License-Identifier: Apache-2.0
// Results of launches other than arrays: partial results of reductions, and traps.
#include <algorithm>
#include <array>

#include "bytecode/reduction.h"
#include "bytecode/registers.h"
#include "offload/devices/conformance/launches.h"

namespace dhpvm::offload {
namespace {

using bytecode::put;
using codegen::KernelSite;
using codegen::KernelTrap;

// ---- Reductions

// The partial results of sums() over rows [row_low, row_high) and columns [low, high), in the order of KernelRecord.
std::vector<std::uint64_t> expected_partials(const std::vector<float>& x, std::int64_t width,
                                             const IterationSpace& space,
                                             const std::vector<bytecode::Reduction>& reductions) {
  std::vector<std::uint64_t> partials;
  for (std::int64_t i = space.low[0]; i < space.high[0]; ++i) {
    for (std::int64_t block = space.low[1]; block < space.high[1]; block += bytecode::kReductionBlock) {
      for (std::size_t r = 0; r < 2; ++r) {
        std::array<std::uint64_t, bytecode::kReductionLanes> lanes;
        lanes.fill(identity(reductions[r]));
        for (std::int64_t j = block;
             j < std::min<std::int64_t>(block + bytecode::kReductionBlock, space.high[1]); ++j) {
          const std::uint64_t value = r == 0 ? put(x[static_cast<std::size_t>(i * width + j)]) : put(j ^ 677);
          std::uint64_t& lane = lanes[static_cast<std::size_t>(j - block) % lanes.size()];
          lane = combine(reductions[r], lane, value);
        }
        for (std::size_t distance = lanes.size() / 2; distance > 0; distance /= 2) {
          for (std::size_t lane = 0; lane < distance; ++lane)
            lanes[lane] = combine(reductions[r], lanes[lane], lanes[lane + distance]);
        }
        partials.push_back(lanes[0]);
      }
    }
  }
  return partials;
}

TEST_P(Launches, PartialResultsHaveTheBitsOfTheirOrder) {
  const KernelImage* const compiled = image("sums");
  const auto kernel = load("sums");
  if (kernel == nullptr) return;
  for (const std::int64_t width : {1, 33, 4096, 3 * 4096 + 1, 50'000}) {
    const std::int64_t rows = 100'000 / width + 1;
    const std::vector<float> x = floats(static_cast<std::size_t>(rows * width), 6);
    const MemorySpan memory = place(x);
    const IterationSpace space{2, {0, 0}, {rows, width}};
    const std::uint64_t blocks = reduction_blocks(space);
    // One word more on each side shows who writes too much.
    const std::vector<std::uint64_t> untouched(2 * blocks + 2, 0x5555555555555555);
    const MemorySpan partials = place(untouched);
    run(kernel, space, {put(width)}, {array_argument(memory, x.size(), 4)},
        {partials.memory, 8, partials.bytes - 16});
    std::vector<std::uint64_t> found = values<std::uint64_t>(partials);
    EXPECT_EQ(found.front(), untouched.front());
    EXPECT_EQ(found.back(), untouched.back());
    found = {found.begin() + 1, found.end() - 1};
    EXPECT_TRUE(found == expected_partials(x, width, space, compiled->reductions)) << "rows of " << width;
  }
}

TEST_P(Launches, ReductionsMayBeCutAtTheirBlocks) {
  const KernelImage* const compiled = image("sums");
  const auto kernel = load("sums");
  if (kernel == nullptr) return;
  const std::int64_t width = 5 * 4096 + 77;
  const std::vector<float> x = floats(static_cast<std::size_t>(2 * width), 7);
  const MemorySpan memory = place(x);
  for (const std::int64_t row : {0, 1}) {
    for (std::int64_t low = 0; low < width; low += 2 * 4096) {
      const IterationSpace space{2, {row, low}, {row + 1, std::min<std::int64_t>(low + 2 * 4096, width)}};
      const MemorySpan partials = allocate(16 * reduction_blocks(space));
      run(kernel, space, {put(width)}, {array_argument(memory, x.size(), 4)}, partials);
      EXPECT_TRUE(values<std::uint64_t>(partials) == expected_partials(x, width, space, compiled->reductions))
          << low;
    }
  }
}

// ---- Traps

TEST_P(Launches, TheFirstTrapIsReported) {
  const KernelImage* const compiled = image("quotients");
  const auto kernel = load("quotients");
  if (kernel == nullptr) return;
  constexpr std::size_t kLength = 50'000;
  std::vector<std::int64_t> divisors(kLength, 7);
  for (const std::size_t zero : {40'000U, 30'001U, 30'002U, 49'999U}) divisors[zero] = 0;
  const MemorySpan quotients = place(std::vector<std::int64_t>(kLength));
  run(kernel, {1, {0}, {kLength}}, {},
      {array_argument(place(divisors), kLength, 8), array_argument(quotients, kLength, 8)});
  const std::optional<KernelTrap> found = trap();
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->index[0], 30'001);
  const std::vector<KernelSite>& sites = sites_of(*kernel, *compiled);
  ASSERT_LT(found->site, sites.size());
  EXPECT_EQ(sites[found->site].kind, KernelSite::Kind::kTrap);
  EXPECT_EQ(sites[found->site].trap, codegen::TrapKind::kDivisionByZero);
  EXPECT_EQ(found->operands[0], 1000U) << "the dividend";
  const std::vector<std::int64_t> done = values<std::int64_t>(quotients);
  EXPECT_EQ(std::count(done.begin(), done.begin() + 30'001, 142), 30'001) << "iterations before the trap";
}

TEST_P(Launches, AReportKeepsTheFirstTrapOfManyLaunches) {
  const auto kernel = load("quotients");
  if (kernel == nullptr) return;
  std::vector<std::int64_t> divisors(4000, 1);
  divisors[3100] = divisors[1200] = divisors[1700] = 0;
  const MemorySpan memory = place(divisors);
  const MemorySpan quotients = allocate(4000 * 8);
  constexpr struct {
    std::int64_t chunk, trap;
  } kSteps[] = {{0, -1}, {3, 3100}, {1, 1200}, {3, 1200}, {2, 1200}};
  for (const auto& step : kSteps) {
    run(kernel, {1, {step.chunk * 1000}, {step.chunk * 1000 + 1000}}, {},
        {array_argument(memory, 4000, 8), array_argument(quotients, 4000, 8)});
    const std::optional<KernelTrap> found = trap();
    EXPECT_EQ(found ? found->index[0] : -1, step.trap);
  }
}

TEST_P(Launches, AnElementOutsideOfItsArray) {
  const KernelImage* const compiled = image("gather");
  const auto kernel = load("gather");
  if (kernel == nullptr) return;
  std::vector<std::int64_t> at(2000);
  for (std::size_t i = 0; i < at.size(); ++i) at[i] = static_cast<std::int64_t>(i % 100);
  at[1500] = 100;
  at[1501] = -1;
  const MemorySpan where = place(at);
  const MemorySpan x = place(std::vector<std::int64_t>(100, 5));
  const MemorySpan y = allocate(2000 * 8);
  const std::vector<ArrayArgument> arrays = {array_argument(where, 2000, 8), array_argument(x, 100, 8),
                                             array_argument(y, 2000, 8)};
  run(kernel, {1, {1501}, {2000}}, {}, arrays);
  EXPECT_EQ(trap().value_or(KernelTrap{}).operands[0], put(std::int64_t{-1}));
  run(kernel, {1, {0}, {2000}}, {}, arrays);
  const KernelTrap found = trap().value_or(KernelTrap{});
  EXPECT_EQ(found.index[0], 1500);
  EXPECT_EQ(found.operands[0], 100U);
  EXPECT_EQ(found.array, 1U);
  const std::vector<KernelSite>& sites = sites_of(*kernel, *compiled);
  ASSERT_LT(found.site, sites.size());
  EXPECT_EQ(sites[found.site].kind, KernelSite::Kind::kRead);
}

TEST_P(Launches, AnArrayThatIsClosed) {
  const KernelImage* const compiled = image("gather");
  const auto kernel = load("gather");
  if (kernel == nullptr) return;
  const MemorySpan where = place(std::vector<std::int64_t>(2000, 1));
  ArrayArgument closed = array_argument({}, 2000, 8);
  closed.shape.readable = closed.shape.writable = 0;
  run(kernel, {1, {0}, {2000}}, {}, {array_argument(where, 2000, 8), array_argument(where, 2000, 8), closed});
  const KernelTrap found = trap().value_or(KernelTrap{});
  EXPECT_EQ(found.index[0], 0);
  EXPECT_EQ(found.array, 2U);
  const std::vector<KernelSite>& sites = sites_of(*kernel, *compiled);
  ASSERT_LT(found.site, sites.size());
  EXPECT_EQ(sites[found.site].kind, KernelSite::Kind::kWrite);
}

TEST_P(Launches, TrapsOfThreeDimensionsComeInTheirOrder) {
  const auto kernel = load("cube");
  if (kernel == nullptr) return;
  const MemorySpan memory = place(std::vector<std::int64_t>(20 * 30 * 40));
  ArrayArgument array = array_argument(memory, 20 * 30 * 40, 8);
  array.shape.writable = (11 * 30 + 7) * 40 + 13;
  run(kernel, {3, {0, 0, 0}, {20, 30, 40}}, {30, 40}, {array});
  const KernelTrap found = trap().value_or(KernelTrap{});
  EXPECT_EQ(std::vector(found.index, found.index + 3), (std::vector<std::int64_t>{11, 7, 13}));
}

}  // namespace
}  // namespace dhpvm::offload
