// SPDX-License-Identifier: Apache-2.0
// Launches: indices, scalars, arrays that are there in part, what is refused.
#include <algorithm>

#include "bytecode/registers.h"
#include "offload/devices/conformance/launches.h"

namespace dhpvm::offload {
namespace {

using bytecode::put;
using codegen::KernelReport;

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

TEST_P(Launches, AreRecorded) {
  const auto kernel = load("saxpy");
  if (kernel == nullptr) return;
  const MemorySpan x = place(floats(1000, 8));
  const MemorySpan y = place(floats(1000, 9));
  const MemorySpan own_report = place(std::vector<KernelReport>(1));
  const ArrayArgument arrays[] = {array_argument(x, 1000, 4), array_argument(y, 1000, 4)};
  const std::uint64_t scalar = put(1.0F);
  std::vector<OperationRecord> records;
  {
    const auto queue =
        new_queue("observed", [&](const OperationRecord& record) { records.push_back(record); });
    EXPECT_TRUE(ok(queue->launch({kernel, {1, {10}, {310}}, {&scalar, 1}, arrays, {}, own_report}, {}, 77)));
  }
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(records[0].kind, OperationRecord::Kind::kLaunch);
  EXPECT_EQ(records[0].label, 77U);
  EXPECT_EQ(records[0].iterations, 300U);
  EXPECT_GE(records[0].end, records[0].begin);
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

// ---- Refused launches

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
  other.format = KernelFormat::kDeviceCode;
  other.device_code.language = "a language that no device takes";
  EXPECT_EQ(device->load(other).error().code(), ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace dhpvm::offload
