// SPDX-License-Identifier: Apache-2.0
#include "stdlib/native/number_parse.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace dhpvm::stdlib {
namespace {

TEST(ParseInteger, TakesTheWholeText) {
  EXPECT_EQ(parse_integer("0"), 0);
  EXPECT_EQ(parse_integer("-17"), -17);
  EXPECT_EQ(parse_integer("+17"), 17);
  EXPECT_EQ(parse_integer("007"), 7);
  EXPECT_EQ(parse_integer("0xff"), 255);
  EXPECT_EQ(parse_integer("-0XFF"), -255);
  EXPECT_EQ(parse_integer("0b101"), 5);
  EXPECT_EQ(parse_integer("0o17"), 15);
  EXPECT_EQ(parse_integer("9223372036854775807"), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(parse_integer("-9223372036854775808"), std::numeric_limits<std::int64_t>::min());
}

TEST(ParseInteger, RefusesEverythingElse) {
  for (const char* text :
       {"", "-", "+", "--1", "1 ", " 1", "1.0", "0x", "0b2", "1e3", "abc", "9223372036854775808",
        "-9223372036854775809", "99999999999999999999", "0x-1", "1_000"}) {
    EXPECT_FALSE(parse_integer(text).has_value()) << text;
  }
}

TEST(ParseFloat, TakesTheWholeText) {
  const double kInfinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(parse_float("1.5"), 1.5);
  EXPECT_EQ(parse_float("-0.1e-3"), -0.1e-3);
  EXPECT_EQ(parse_float("+2"), 2.0);
  EXPECT_EQ(parse_float(".5"), 0.5);
  EXPECT_EQ(parse_float("5."), 5.0);
  EXPECT_EQ(parse_float("inf"), kInfinity);
  EXPECT_EQ(parse_float("-Infinity"), -kInfinity);
  EXPECT_TRUE(std::isnan(parse_float("NaN").value_or(0)));
  EXPECT_TRUE(std::signbit(parse_float("-0").value_or(1)));
}

TEST(ParseFloat, LeavesTheRangeAsCDoes) {
  const double kInfinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(parse_float("1e400"), kInfinity);
  EXPECT_EQ(parse_float("-1e400"), -kInfinity);
  EXPECT_EQ(parse_float("1e-400"), 0.0);
  EXPECT_EQ(parse_float("1e99999999999999999999999"), kInfinity);
  EXPECT_EQ(parse_float("1e-99999999999999999999999"), 0.0);
  EXPECT_EQ(parse_float(std::string(400, '9')), kInfinity);
  EXPECT_EQ(parse_float("0." + std::string(400, '0') + "1"), 0.0);
}

TEST(ParseFloat, RefusesEverythingElse) {
  for (const char* text :
       {"", "-", "--1", "+-1", "-+1", "1 ", " 1", "1,5", "1e", "e5", "nan(1)", "0x10", "infx", "."}) {
    EXPECT_FALSE(parse_float(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace dhpvm::stdlib
