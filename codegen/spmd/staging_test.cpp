// SPDX-License-Identifier: Apache-2.0
#include "codegen/spmd/staging.h"
#include "base/test_effort.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <random>

#include "codegen/spmd/random_nest.h"
#include "codegen/spmd/test_kernel.h"

namespace dhpvm::codegen::spmd {
namespace {

// Words that hold elements of `type`.
TestData nest_data(NestType type, unsigned width) {
  TestData data;
  std::mt19937 random(17);
  const auto part = [&] { return static_cast<float>(random() % 4096) / 1024.0F; };
  for (auto& array : data.arrays) {
    for (std::size_t word = 0; word < kNestWords; ++word) {
      switch (type) {
        case NestType::kInteger: array.push_back((std::uint64_t{random()} << 32) | random()); break;
        case NestType::kDouble: array.push_back(std::bit_cast<std::uint64_t>(double{part()})); break;
        case NestType::kFloat:
          array.push_back((std::uint64_t{std::bit_cast<std::uint32_t>(part())} << 32) |
                          std::bit_cast<std::uint32_t>(part()));
      }
    }
  }
  data.results.assign(width, 0);
  return data;
}

// Sums of a thousand elements for each lane, with a line that computes the number of turns.
std::string row_sums(const std::string& turns) {
  return R"(
    declare i64 @llvm.smin.i64(i64, i64)
    define float @body(i64 %i, ptr %a, ptr %b, ptr %c, i64 %n) {
    entry:
      %row = mul nsw i64 %i, 1000
)" + turns +
         R"(
      %any = icmp sgt i64 %turns, 0
      br i1 %any, label %loop, label %done
    loop:
      %k = phi i64 [ 0, %entry ], [ %next, %loop ]
      %sum = phi float [ 0.0, %entry ], [ %more, %loop ]
      %place = add nsw i64 %row, %k
      %address = getelementptr float, ptr %a, i64 %place
      %x = load float, ptr %address
      %more = fadd float %sum, %x
      %next = add nsw i64 %k, 1
      %again = icmp slt i64 %next, %turns
      br i1 %again, label %loop, label %done
    done:
      %result = phi float [ 0.0, %entry ], [ %more, %loop ]
      ret float %result
    })";
}

TEST(Staging, SumsOfRowsGatherNothing) {
  auto kernel = TestKernel::create(row_sums("%turns = add i64 %n, 0"), 16);
  ASSERT_TRUE(kernel.ok()) << kernel.error().to_string();
  EXPECT_NE(kernel->vector_text().find(kFillFromRows), std::string::npos) << kernel->vector_text();
  EXPECT_EQ(kernel->vector_text().find("masked.gather"), std::string::npos) << kernel->vector_text();
}

// Blocks of %n elements, as many as fit into 16,000: the last is shorter, and later iterations have none.
TEST(Staging, BlocksOfEqualLengthGatherNothing) {
  auto kernel = TestKernel::create(row_sums(R"(
      %before = mul i64 %i, %n
      %left = sub i64 16000, %before
      %turns = call i64 @llvm.smin.i64(i64 %left, i64 %n))"),
                                   16);
  ASSERT_TRUE(kernel.ok()) << kernel.error().to_string();
  EXPECT_NE(kernel->vector_text().find(kFillFromRows), std::string::npos) << kernel->vector_text();
  // In the other body.
  EXPECT_NE(kernel->vector_text().find("masked.gather"), std::string::npos) << kernel->vector_text();
  const TestData data = nest_data(NestType::kFloat, 16);
  for (const std::int64_t n : {0, 1, 17, 999, 1000}) {
    for (const std::int64_t begin : {0, 1, 2, 9, 16, 17}) {
      for (const unsigned active : {1U, 7U, 15U, 16U}) {
        TestData expected = data;
        kernel->run_scalar(expected, begin, n, active);
        TestData found = data;
        kernel->run_tail(found, begin, n, active);
        std::copy(expected.results.begin() + active, expected.results.end(), found.results.begin() + active);
        ASSERT_EQ(expected, found) << n << " turns from " << begin << ", " << active << " lanes";
        if (active < 16) continue;
        kernel->run_full(found, begin, n);
        ASSERT_EQ(expected, found) << n << " turns from " << begin;
      }
    }
  }
}

// One turn, the sides of squares, a block, and the numbers next to them.
TEST(Staging, RandomNestsAgreeWithTheScalarFunction) {
  constexpr std::int64_t kTurns[] = {
      0, 1, 3, 7, 8, 15, 16, 17, 31, 61, 63, 64, 65, 127, 128, 131, 255, 257, kMostNestTurns};
  unsigned staged = 0;
  unsigned drained = 0;
  unsigned split = 0;
  for (unsigned seed = 1; seed <= test_effort(96); ++seed) {
    constexpr unsigned kWidths[] = {4, 8, 16, 32};
    const unsigned width = kWidths[seed % 4];
    const std::string nest = random_nest(seed);
    auto kernel = TestKernel::create(nest, width, 128U << seed / 2 % 3);
    ASSERT_TRUE(kernel.ok()) << "seed " << seed << ": " << kernel.error().to_string() << "\n" << nest;
    staged += kernel->vector_text().find(kFillFromRows) == std::string::npos ? 0 : 1;
    drained += kernel->vector_text().find(kDrainToRows) == std::string::npos ? 0 : 1;
    split += kernel->vector_text().find(".equal") == std::string::npos ? 0 : 1;
    const TestData data = nest_data(nest_type(seed), width);
    for (unsigned run = 0; run < 8; ++run) {
      const std::int64_t n = kTurns[(seed * 5 + run * 3) % std::size(kTurns)];
      const std::int64_t begin = (seed + run) % 8;
      const unsigned active = run % 2 == 0 ? width : 1 + (seed * 7 + run * 3) % width;
      TestData expected = data;
      kernel->run_scalar(expected, begin, n, active);
      TestData found = data;
      kernel->run_tail(found, begin, n, active);
      std::copy(expected.results.begin() + active, expected.results.end(), found.results.begin() + active);
      ASSERT_EQ(expected, found) << "seed " << seed << ", " << active << " of " << width << " lanes, n " << n
                                 << "\n"
                                 << nest;
      if (active < width) continue;
      found = data;
      kernel->run_full(found, begin, n);
      ASSERT_EQ(expected, found) << "seed " << seed << ", " << width << " lanes, n " << n << "\n" << nest;
    }
  }
  EXPECT_GT(staged, test_effort(20));
  EXPECT_GE(drained, test_effort(4));
  EXPECT_GE(split, test_effort(4));
}

}  // namespace
}  // namespace dhpvm::codegen::spmd
