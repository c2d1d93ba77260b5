// SPDX-License-Identifier: Apache-2.0
#include "stdlib/native/json_number.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <random>
#include <string>
#include <string_view>

namespace dhpvm::stdlib {
namespace {

TEST(JsonNumber, KnowsIntegers) {
  for (const std::int64_t value :
       {std::int64_t{0}, std::int64_t{7}, std::int64_t{-120}, std::numeric_limits<std::int64_t>::max(),
        std::numeric_limits<std::int64_t>::min()}) {
    const std::string text = std::to_string(value);
    const JsonNumber read = read_json_number(text);
    EXPECT_EQ(read.kind, JsonNumberKind::kInteger) << text;
    EXPECT_EQ(read.integer, value);
    EXPECT_EQ(read.number, static_cast<double>(value));
    EXPECT_EQ(read.end, text.data() + text.size());
  }
}

TEST(JsonNumber, MakesFloatsOfTheRest) {
  for (const char* text :
       {"1.5", "-0", "-0.0", "1e3", "1E+3", "12e-1", "0.1", "9223372036854775808", "-9223372036854775809",
        "123456789012345678901234567890", "1e-400", "5e-324", "0e99999999999", "0.30000000000000004",
        "1.7976931348623157e308", "1e22", "1e23"}) {
    const JsonNumber read = read_json_number(text);
    EXPECT_EQ(read.kind, JsonNumberKind::kFloat) << text;
    EXPECT_EQ(read.number, std::strtod(text, nullptr)) << text;
    EXPECT_EQ(std::signbit(read.number), text[0] == '-') << text;
    EXPECT_EQ(*read.end, '\0') << text;
  }
}

TEST(JsonNumber, StopsBehindTheNumber) {
  for (const char* text : {"1,", "1.5]", "0 ", "-2}", "1e5x", "3-", "1.5.2"}) {
    const JsonNumber read = read_json_number(text);
    EXPECT_LE(read.kind, JsonNumberKind::kFloat) << text;
    EXPECT_NE(*read.end, '\0') << text;
  }
}

TEST(JsonNumber, RefusesWhatIsNone) {
  for (const char* text :
       {"", "-", "+1", ".5", "1.", "1.e3", "1e", "1e+", "01", "-01", "00", "-x", "x", "nan", "inf", "--1"}) {
    EXPECT_EQ(read_json_number(text).kind, JsonNumberKind::kNone) << text;
  }
}

TEST(JsonNumber, RefusesWhatIsTooLarge) {
  for (const std::string& text : {std::string("1e309"), std::string("-1e309"),
                                  std::string("1e99999999999999"), std::string(400, '9')}) {
    EXPECT_EQ(read_json_number(text).kind, JsonNumberKind::kTooLarge) << text;
  }
}

// Numbers read back as they were printed, in all precisions: the exact path and the other meet at 2^53 and at 10^22.
TEST(JsonNumber, IsTheNearestOfRandomTexts) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 200'000; ++i) {
    const double value =
        std::ldexp(static_cast<double>(random() >> 11), static_cast<int>(random() % 200) - 150);
    char text[64];
    std::snprintf(text, sizeof text, random() % 2 == 0 ? "%.*e" : "%.*g", static_cast<int>(random() % 20),
                  value);
    const JsonNumber read = read_json_number(text);
    ASSERT_LE(read.kind, JsonNumberKind::kFloat) << text;
    ASSERT_EQ(read.number, std::strtod(text, nullptr)) << text;
  }
}

// Whatever stands behind it, the ways for short numbers say the same as the other, or nothing.
TEST(JsonNumber, IsTheSameByTheWaysForShortOnes) {
  const std::string_view pieces[] = {"0", "1",    "7",    "12",        "98765",   "123456789", "00000000",
                                     ".", "-",    "e",    "E+3",       ",",       "]",         " ",
                                     "x", "\xff", "5.25", "999999999", "0000001", "/",         ":"};
  std::mt19937 random(2);
  int answered = 0;
  for (int round = 0; round < 200'000; ++round) {
    std::string text;
    const std::size_t parts = 1 + random() % 6;
    for (std::size_t i = 0; i < parts; ++i) text += pieces[random() % std::size(pieces)];
    // What stands in front of a token, and in the place of digits that it lacks, does not count.
    const std::string around = std::string(kDigitsAtOnce, "5,.\xff"[random() % 4]) + text + ",";
    const JsonNumber token =
        read_json_token(around.data() + kDigitsAtOnce, around.data() + kDigitsAtOnce + text.size());
    text.append(kShortJsonNumber, "0,.e"[random() % 4]);
    const JsonNumber whole = read_json_number(text);
    if (token.kind != JsonNumberKind::kNone) {
      ++answered;
      const JsonNumber other = read_json_number(around.substr(kDigitsAtOnce));
      ASSERT_EQ(token.kind, other.kind) << around;
      ASSERT_EQ(token.integer, other.integer) << around;
      ASSERT_EQ(token.number, other.number) << around;
      ASSERT_EQ(std::signbit(token.number), std::signbit(other.number)) << around;
    }
    const JsonNumber read = read_short_json_number(text.data());
    if (read.kind == JsonNumberKind::kNone) continue;
    ++answered;
    ASSERT_EQ(read.kind, whole.kind) << text;
    ASSERT_EQ(read.end, whole.end) << text;
    ASSERT_EQ(read.integer, whole.integer) << text;
    ASSERT_EQ(read.number, whole.number) << text;
    ASSERT_EQ(std::signbit(read.number), std::signbit(whole.number)) << text;
  }
  EXPECT_GT(answered, 20'000);
}

}  // namespace
}  // namespace dhpvm::stdlib
