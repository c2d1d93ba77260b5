// SPDX-License-Identifier: Apache-2.0
#include "stdlib/native/number_parse.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>
#include <string>
#include <string_view>

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

TEST(ParseInteger, TakesAnyNumberOfDigits) {
  std::string text;
  std::int64_t value = 0;
  for (const char digit : std::string_view("1234567890123456789")) {
    text += digit;
    value = value * 10 + (digit - '0');
    EXPECT_EQ(parse_integer(text), value) << text;
    EXPECT_EQ(parse_integer("-" + text), -value) << text;
    EXPECT_EQ(parse_integer("0" + text), value) << text;
    EXPECT_FALSE(parse_integer(text + "x").has_value()) << text;
    EXPECT_FALSE(parse_integer(text + ".").has_value()) << text;
  }
  EXPECT_FALSE(parse_integer(text + "0").has_value());
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

TEST(ParseFloat, RoundsAsTheCLibrary) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 20000; ++round) {
    std::string text = std::to_string(random());
    text.resize(1 + random() % text.size());
    if (const std::size_t point = random() % 24; point <= text.size()) text.insert(point, ".");
    if (random() % 4 == 0) text.insert(0, random() % 2 == 0 ? "-" : "000");
    if (random() % 8 == 0) text += "e-" + std::to_string(random() % 30);
    if (text == "." || text == "-." || text.starts_with(".e") || text.starts_with("-.e")) continue;
    EXPECT_EQ(parse_float(text), std::strtod(text.c_str(), nullptr)) << text;
  }
}

TEST(ParseFloat, RefusesEverythingElse) {
  for (const char* text :
       {"", "-", "--1", "+-1", "-+1", "1 ", " 1", "1,5", "1e", "e5", "nan(1)", "0x10", "infx", "."}) {
    EXPECT_FALSE(parse_float(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace dhpvm::stdlib
