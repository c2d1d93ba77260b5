// SPDX-License-Identifier: Apache-2.0
// Quotients by multiplication equal the processor's.
#include "codegen/division.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <random>
#include <vector>

namespace dhpvm::codegen {
namespace {

std::uint64_t high(std::uint64_t left, std::uint64_t right) {
  using Wide = unsigned __int128;
  return static_cast<std::uint64_t>((Wide{left} * right) >> 64);
}

std::uint64_t magnitude_of(std::int64_t value) {
  const auto bits = static_cast<std::uint64_t>(value);
  return value < 0 ? 0 - bits : bits;
}

void check(std::int64_t divisor, std::uint64_t dividend) {
  const Division division = division_by(divisor);
  const std::uint64_t expected = dividend / magnitude_of(divisor);
  ASSERT_EQ((high(dividend, division.multiplier) + dividend) >> division.shift, expected)
      << dividend << " / " << divisor;
  if (dividend >> 31 != 0) return;
  const auto small = static_cast<std::uint32_t>(dividend);
  const auto upper = static_cast<std::uint32_t>((dividend * division.small_multiplier) >> 32);
  ASSERT_LT(division.small_shift, 32U);
  ASSERT_EQ((upper + small) >> division.small_shift, expected) << dividend << " / " << divisor;
}

// Both sides of each power of two, and multiples of the divisor with their neighbours.
TEST(Division, IsExact) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 63;
  std::mt19937_64 random(1);
  std::vector<std::int64_t> divisors = {std::numeric_limits<std::int64_t>::min(), 1, -1, 3, 7, 10, 13, 641};
  for (unsigned bit = 1; bit < 63; ++bit) {
    for (const std::int64_t near : {-1, 0, 1}) divisors.push_back((std::int64_t{1} << bit) + near);
  }
  for (unsigned n = 0; n < 300; ++n)
    divisors.push_back(static_cast<std::int64_t>(random() >> random() % 63) | 1);
  for (const std::int64_t divisor : divisors) {
    std::vector<std::uint64_t> dividends = {0, 1, 2, kMost, kMost - 1, (std::uint64_t{1} << 31) - 1};
    for (unsigned n = 0; n < 100; ++n) {
      const std::uint64_t any = random() >> (1 + random() % 63);
      const std::uint64_t multiple = any / magnitude_of(divisor) * magnitude_of(divisor);
      dividends.insert(dividends.end(), {any, multiple, multiple + 1, multiple == 0 ? 0 : multiple - 1});
    }
    for (const std::uint64_t dividend : dividends) check(divisor, dividend);
  }
}

TEST(Division, ByZeroHasConstants) { EXPECT_EQ(division_by(0).multiplier, 0U); }

}  // namespace
}  // namespace dhpvm::codegen
