// SPDX-License-Identifier: Apache-2.0
#include "stdlib/native/decimal.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>
#include <string>
#include <string_view>

namespace dhpvm::stdlib {
namespace {

double by_the_c_library(std::uint64_t value, int exponent) {
  return std::strtod((std::to_string(value) + "e" + std::to_string(exponent)).c_str(), nullptr);
}

TEST(ReadDigits, StopsAtWhateverElse) {
  for (const std::string_view behind : {"", "x", ".", "/", ":", "\x80", "-", "\xff"}) {
    std::string text;
    std::uint64_t wanted = 0;
    for (int n = 0; n <= kExactDigits; ++n) {
      const std::string whole = text + std::string(behind);
      std::uint64_t value = 0;
      const char* const stop = read_digits(whole.data(), whole.data() + whole.size(), value);
      EXPECT_EQ(stop - whole.data(), n) << whole;
      EXPECT_EQ(value, wanted) << whole;
      const char digit = "9081726354"[n % 10];
      text += digit;
      wanted = wanted * 10 + static_cast<std::uint64_t>(digit - '0');
    }
  }
}

TEST(ReadDigits, ReadsNothingBehindTheEnd) {
  const std::string text = "123456789";
  std::uint64_t value = 0;
  EXPECT_EQ(read_digits(text.data(), text.data() + 3, value), text.data() + 3);
  EXPECT_EQ(value, 123u);
}

TEST(NearestDecimal, RoundsAsTheCLibrary) {
  std::mt19937_64 random(3);
  int answered = 0;
  for (int round = 0; round < 300'000; ++round) {
    const std::uint64_t value = random() >> (random() % 64);
    const int exponent = static_cast<int>(random() % 100) - 40;
    const std::optional<double> nearest = nearest_decimal(value, exponent);
    if (!nearest.has_value()) continue;
    ++answered;
    ASSERT_EQ(*nearest, by_the_c_library(value, exponent)) << value << "e" << exponent;
  }
  EXPECT_GT(answered, 200'000);
}

// In the middle between two results, and one unit beside it: where the product of 64 bits does not decide alone.
TEST(NearestDecimal, RoundsMiddlesToEven) {
  std::mt19937_64 random(4);
  for (int round = 0; round < 3'000; ++round) {
    // 54 bits, of which the last is the half of a result's last one.
    const std::uint64_t middle = std::uint64_t{1} << 53 | random() >> 11 | 1;
    for (int exponent = -4; exponent <= 23; ++exponent) {
      std::uint64_t power = 1;
      for (int i = 0; i < std::abs(exponent); ++i) power *= 5;
      const std::uint64_t value = exponent < 0 ? middle * power : (middle / power) | 1;
      for (const std::uint64_t near : {value - 1, value, value + 1}) {
        const std::optional<double> nearest = nearest_decimal(near, exponent);
        ASSERT_TRUE(nearest.has_value());
        ASSERT_EQ(*nearest, by_the_c_library(near, exponent)) << near << "e" << exponent;
      }
    }
  }
}

TEST(NearestDecimal, ReachesItsEnds) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  for (const int exponent : {-27, -22, 0, 22, 55}) {
    for (const std::uint64_t value : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{5}, kMost}) {
      const std::optional<double> nearest = nearest_decimal(value, exponent);
      ASSERT_TRUE(nearest.has_value()) << value << "e" << exponent;
      EXPECT_EQ(*nearest, by_the_c_library(value, exponent)) << value << "e" << exponent;
    }
  }
  EXPECT_FALSE(nearest_decimal(kMost, -28).has_value());
  EXPECT_FALSE(nearest_decimal(kMost, 56).has_value());
}

}  // namespace
}  // namespace dhpvm::stdlib
