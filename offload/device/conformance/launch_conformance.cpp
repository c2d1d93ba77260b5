// SPDX-License-Identifier: Apache-2.0
// Launches: indices, scalars, arrays that are there in part, reductions in their order, traps.
#include <algorithm>

#include "bytecode/reduction.h"
#include "bytecode/registers.h"
#include "offload/device/conformance/conformance.h"

namespace dhpvm::offload {
namespace {

using bytecode::get;
using bytecode::put;
using codegen::KernelReport;
using codegen::KernelSite;
using codegen::KernelStatus;
using codegen::KernelTrap;

std::vector<float> floats(std::size_t count, std::uint32_t seed) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto mixed = static_cast<std::uint32_t>(i + seed) * 2654435761U;
    values[i] = static_cast<float>(mixed >> 8) / 65536.0F - 100.0F;
  }
  return values;
}

class Launches : public Conformance {
 protected:
  void TearDown() override {
    report = {};
    Conformance::TearDown();
  }
  // The kernel over the space on a queue of its own, to the end.
  void run(const std::shared_ptr<Kernel>& kernel, const IterationSpace& space,
           const std::vector<std::uint64_t>& scalars, const std::vector<ArrayArgument>& arrays,
           const MemorySpan& partials = {}) {
    const auto queue = new_queue("launch");
    const auto done = new_semaphore();
    if (report.memory == nullptr) report = place(std::vector<KernelReport>(1));
    EXPECT_TRUE(
        ok(queue->launch({kernel, space, scalars, arrays, partials, report}, Ordered{{}, {{done, 1}}})));
    EXPECT_TRUE(ok(queue->flush()));
    EXPECT_TRUE(reached(*done, 1));
  }
  // The trap that is reported, if there is one.
  std::optional<KernelTrap> trap() {
    const KernelReport found = values<KernelReport>(report).front();
    EXPECT_EQ(found.lock, 0U);
    if (found.status == static_cast<std::uint32_t>(KernelStatus::kDone)) return std::nullopt;
    EXPECT_EQ(found.status, static_cast<std::uint32_t>(KernelStatus::kTrapped));
    return found.trap;
  }
  MemorySpan report;
};

INSTANTIATE_TEST_SUITE_P(Devices, Launches, testing::ValuesIn(Conformance::devices()),
                         Conformance::test_name);

TEST_P(Launches, EveryIterationOnce) {
  const auto kernel = load("saxpy");
  if (kernel == nullptr) return;
  for (const std::size_t n : {1U, 31U, 1000U, 100'003U}) {
    const std::vector<float> x = floats(n, 1);
    std::vector<float> y = floats(n, 2);
    const MemorySpan first = place(x);
    const MemorySpan second = place(y);
    // The first and the last iteration are left out where that leaves something.
    const auto low = n > 2 ? std::int64_t{1} : 0;
    const auto high = static_cast<std::int64_t>(n) - low;
    run(kernel, {1, {low}, {high}}, {put(1.7F)}, {array_argument(first, n, 4), array_argument(second, n, 4)});
    for (auto i = low; i < high; ++i)
      y[static_cast<std::size_t>(i)] = 1.7F * x[static_cast<std::size_t>(i)] + y[static_cast<std::size_t>(i)];
    EXPECT_TRUE(values<float>(second) == y) << n << " iterations";
    EXPECT_TRUE(values<float>(first) == x) << n << " iterations";
  }
  EXPECT_FALSE(trap().has_value());
  EXPECT_EQ(device->stats().launches - before.launches, 4U);
}

TEST_P(Launches, ThreeDimensionsFromAnywhere) {
  const auto kernel = load("cube");
  if (kernel == nullptr) return;
  const std::int64_t m = 12;
  const std::int64_t n = 70;
  std::vector<std::int64_t> expected(9 * 12 * 70, -1);
  const MemorySpan memory = place(expected);
  const IterationSpace space{3, {2, 1, 5}, {9, 12, 68}};
  run(kernel, space, {put(m), put(n)}, {array_argument(memory, expected.size(), 8)});
  for (std::int64_t i = 2; i < 9; ++i) {
    for (std::int64_t j = 1; j < 12; ++j) {
      for (std::int64_t k = 5; k < 68; ++k)
        expected[static_cast<std::size_t>((i * m + j) * n + k)] = i * 10'000 + j * 100 + k;
    }
  }
  EXPECT_EQ(values<std::int64_t>(memory), expected);
  EXPECT_FALSE(trap().has_value());
}

// As the pipeline does it: memory for a chunk alone, whose first element is not the array's.
TEST_P(Launches, ArraysThatAreThereInPart) {
  const auto kernel = load("saxpy");
  if (kernel == nullptr) return;
  constexpr std::size_t kLength = 10'000;
  constexpr std::size_t kChunk = 768;
  const std::vector<float> x = floats(kLength, 3);
  const std::vector<float> y = floats(kLength, 4);
  for (std::size_t low = 0; low < kLength; low += kChunk) {
    const std::size_t high = std::min(low + kChunk, kLength);
    const auto part = [&](const std::vector<float>& of) {
      return place(std::vector(of.begin() + static_cast<std::ptrdiff_t>(low),
                               of.begin() + static_cast<std::ptrdiff_t>(high)));
    };
    // Behind other data in a larger memory, as slots are.
    const MemorySpan slot = allocate(kChunk * 4 + 256);
    write({slot.memory, 256, (high - low) * 4}, std::as_bytes(std::span(x).subspan(low, high - low)));
    const MemorySpan second = part(y);
    run(kernel, {1, {static_cast<std::int64_t>(low)}, {static_cast<std::int64_t>(high)}}, {put(0.3F)},
        {array_argument({slot.memory, 256, (high - low) * 4}, kLength, 4, low),
         array_argument(second, kLength, 4, low)});
    const std::vector<float> found = values<float>(second);
    for (std::size_t i = low; i < high; ++i) ASSERT_EQ(found[i - low], 0.3F * x[i] + y[i]) << i;
  }
  EXPECT_FALSE(trap().has_value());
}

TEST_P(Launches, HostMemoryThatIsSharedIsUsedWhereItIs) {
  if (!device->info().shares_host_memory) GTEST_SKIP() << "SKIP: the device has memory of its own";
  const auto kernel = load("saxpy");
  if (kernel == nullptr) return;
  std::vector<float> x = floats(5000, 5);
  std::vector<float> y(5000);
  for (const HostMemory kind : {HostMemory::kPinned, HostMemory::kPageable}) {
    const std::uint64_t copies = device->stats().copies;
    const auto queue = new_queue("launch");
    const auto done = new_semaphore();
    std::vector<KernelReport> own(1);
    const std::uint64_t scalar = put(2.0F);
    const ArrayArgument arrays[] = {array_argument(import(x, kind), 5000, 4),
                                    array_argument(import(y, kind), 5000, 4)};
    EXPECT_TRUE(ok(queue->launch({kernel, {1, {0}, {5000}}, {&scalar, 1}, arrays, {}, import(own, kind)},
                                 Ordered{{}, {{done, 1}}})));
    EXPECT_TRUE(ok(queue->flush()));
    ASSERT_TRUE(reached(*done, 1));
    EXPECT_EQ(device->stats().copies, copies);
  }
  for (std::size_t i = 0; i < 5000; ++i) ASSERT_EQ(y[i], 2.0F * x[i] + 2.0F * x[i]) << i;
}

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
  ASSERT_LT(found->site, compiled->sites.size());
  EXPECT_EQ(compiled->sites[found->site].kind, KernelSite::Kind::kTrap);
  EXPECT_EQ(compiled->sites[found->site].trap, codegen::TrapKind::kDivisionByZero);
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
  ASSERT_LT(found.site, compiled->sites.size());
  EXPECT_EQ(compiled->sites[found.site].kind, KernelSite::Kind::kRead);
}

TEST_P(Launches, AnArrayThatIsClosed) {
  const KernelImage* const compiled = image("gather");
  const auto kernel = load("gather");
  if (kernel == nullptr) return;
  const MemorySpan where = place(std::vector<std::int64_t>(2000, 1));
  ArrayArgument closed = array_argument({}, 2000, 8);
  closed.readable = closed.writable = 0;
  run(kernel, {1, {0}, {2000}}, {}, {array_argument(where, 2000, 8), array_argument(where, 2000, 8), closed});
  const KernelTrap found = trap().value_or(KernelTrap{});
  EXPECT_EQ(found.index[0], 0);
  EXPECT_EQ(found.array, 2U);
  ASSERT_LT(found.site, compiled->sites.size());
  EXPECT_EQ(compiled->sites[found.site].kind, KernelSite::Kind::kWrite);
}

TEST_P(Launches, TrapsOfThreeDimensionsComeInTheirOrder) {
  const auto kernel = load("cube");
  if (kernel == nullptr) return;
  const MemorySpan memory = place(std::vector<std::int64_t>(20 * 30 * 40));
  ArrayArgument array = array_argument(memory, 20 * 30 * 40, 8);
  array.writable = (11 * 30 + 7) * 40 + 13;
  run(kernel, {3, {0, 0, 0}, {20, 30, 40}}, {30, 40}, {array});
  const KernelTrap found = trap().value_or(KernelTrap{});
  EXPECT_EQ(std::vector(found.index, found.index + 3), (std::vector<std::int64_t>{11, 7, 13}));
}

// ---- What is refused

TEST_P(Launches, WhatDoesNotFitTheKernelIsRefused) {
  const KernelImage* const compiled = image("saxpy");
  const auto kernel = load("saxpy");
  if (kernel == nullptr) return;
  const MemorySpan memory = place(std::vector<float>(10));
  report = place(std::vector<KernelReport>(1));
  const auto queue = new_queue("refused");
  const std::vector<std::uint64_t> scalars = {put(1.0F)};
  const std::vector<ArrayArgument> arrays = {array_argument(memory, 10, 4), array_argument(memory, 10, 4)};
  const IterationSpace space{1, {0}, {10}};
  const Launch good{kernel, space, scalars, arrays, {}, report};
  std::vector<Launch> bad(6, good);
  bad[0].kernel = nullptr;
  bad[1].scalars = {};
  bad[2].arrays = bad[2].arrays.first(1);
  bad[3].space.high[0] = 0;
  bad[4].space.dimensions = 2;
  bad[5].report.bytes = 8;
  for (std::size_t n = 0; n < bad.size(); ++n)
    EXPECT_EQ(queue->launch(bad[n], {}).error().code(), ErrorCode::kInvalidArgument) << n;
  EXPECT_TRUE(ok(queue->launch(good, {})));
  KernelImage other = *compiled;
  other.format = compiled->format == KernelFormat::kPtx ? KernelFormat::kOpenClC : KernelFormat::kPtx;
  EXPECT_EQ(device->load(other).error().code(), ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace dhpvm::offload
