// SPDX-License-Identifier: Apache-2.0
#include "stdlib/native/number_format.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace dhpvm::stdlib {
namespace {

std::string shortest_text(double value) {
  char buffer[kShortestSize];
  return std::string(shortest(value, buffer));
}

TEST(Shortest, ReadsBackAsTheSameNumber) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 100'000; ++i) {
    const double value = std::bit_cast<double>(random());
    if (!std::isfinite(value)) continue;
    ASSERT_EQ(std::stod(shortest_text(std::abs(value) < 1e-300 ? 1.0 : value)),
              std::abs(value) < 1e-300 ? 1.0 : value);
  }
}

TEST(Shortest, LooksLikeANumberWithAPoint) {
  const double kInfinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(shortest_text(0.0), "0.0");
  EXPECT_EQ(shortest_text(-0.0), "-0.0");
  EXPECT_EQ(shortest_text(1.0), "1.0");
  EXPECT_EQ(shortest_text(100000.0), "100000.0");
  EXPECT_EQ(shortest_text(0.1), "0.1");
  EXPECT_EQ(shortest_text(1e15), "1000000000000000.0");
  EXPECT_EQ(shortest_text(1e16), "1e+16");
  EXPECT_EQ(shortest_text(0.0001), "0.0001");
  EXPECT_EQ(shortest_text(0.00001), "1e-05");
  EXPECT_EQ(shortest_text(-1.5e300), "-1.5e+300");
  EXPECT_EQ(shortest_text(5e-324), "5e-324");
  EXPECT_EQ(shortest_text(1.7976931348623157e308), "1.7976931348623157e+308");
  EXPECT_EQ(shortest_text(kInfinity), "inf");
  EXPECT_EQ(shortest_text(-kInfinity), "-inf");
  EXPECT_EQ(shortest_text(-std::nan("")), "nan");
  char buffer[kShortestSize];
  EXPECT_EQ(shortest(0.1f, buffer), "0.1");
  EXPECT_EQ(shortest(16777216.0f, buffer), "16777216.0");
}

struct Case {
  double value;
  const char* spec;
  const char* expected;
};

TEST(FormatFloat, AsPythonDoes) {
  const double kInfinity = std::numeric_limits<double>::infinity();
  const Case cases[] = {
      {3.14159, "8.3f", "   3.142"},
      {3.14159, "08.3f", "0003.142"},
      {-3.14159, "08.3f", "-003.142"},
      {2.5, "", "2.5"},
      {1234567.891, ",.2f", "1,234,567.89"},
      {0.25, ".1%", "25.0%"},
      {12345.678, "e", "1.234568e+04"},
      {12345.678, "E", "1.234568E+04"},
      {12345.678, ".3g", "1.23e+04"},
      {0.0001, "g", "0.0001"},
      {123.0, ".3", "1.23e+02"},
      {123.0, ".4", "123.0"},
      {100.0, ".3", "1e+02"},
      {1.0, "+", "+1.0"},
      {1.0, " ", " 1.0"},
      {1.0, "<6", "1.0   "},
      {1.0, "^7", "  1.0  "},
      {1.0, "*^7", "**1.0**"},
      {1.0, "é>5", "éé1.0"},
      {-1.0, "=6", "-  1.0"},
      {1234.5, "012,.1f", "00,001,234.5"},
      {kInfinity, "06", "000inf"},
      {-kInfinity, "F", "-INF"},
      {0.5, ".0f", "0"},
      {1.5, ".0f", "2"},
      {2.5, ".0f", "2"},
      {6.3e-179, "0=10,.0e", "0,006e-179"},
  };
  for (const Case& c : cases) {
    const auto text = format_float(c.value, c.spec);
    ASSERT_TRUE(text.ok()) << c.spec << ": " << text.error().message();
    EXPECT_EQ(*text, c.expected) << c.value << " as '" << c.spec << "'";
  }
}

TEST(FormatInteger, AsPythonDoes) {
  struct {
    std::uint64_t magnitude;
    bool negative;
    const char* spec;
    const char* expected;
  } const cases[] = {
      {42, false, "", "42"},
      {42, true, "6d", "   -42"},
      {255, false, "x", "ff"},
      {255, false, "#X", "0XFF"},
      {255, false, "#010x", "0x000000ff"},
      {5, false, "08b", "00000101"},
      {5, false, "#b", "0b101"},
      {8, false, "o", "10"},
      {1234567, false, ",", "1,234,567"},
      {1234, false, "09,", "0,001,234"},
      {1234567, true, "=_x", "-12_d687"},
      {12, false, ">08", "00000012"},
      {12, false, "<6", "12    "},
      {12, false, "+", "+12"},
      {65, false, "c", "A"},
      {1ull << 63, true, "d", "-9223372036854775808"},
  };
  for (const auto& c : cases) {
    const auto text = format_integer(c.magnitude, c.negative, c.spec);
    ASSERT_TRUE(text.ok()) << c.spec << ": " << text.error().message();
    EXPECT_EQ(*text, c.expected) << c.magnitude << " as '" << c.spec << "'";
  }
}

TEST(FormatText, PadsAndCutsByCodePoints) {
  EXPECT_EQ(*format_text("abc", "6"), "abc   ");
  EXPECT_EQ(*format_text("abc", ">6s"), "   abc");
  EXPECT_EQ(*format_text("héllo", "-^9"), "--héllo--");
  EXPECT_EQ(*format_text("héllo", ".2"), "hé");
  EXPECT_EQ(*format_text("", "3"), "   ");
}

TEST(FormatSpec, ErrorsSayWhatIsWrong) {
  const char* const bad_for_floats[] = {"d", "x", "8.f", "3.2fx", "zz", "999999999999", ".9999f", "8..2f"};
  for (const char* spec : bad_for_floats) {
    const auto text = format_float(1.0, spec);
    ASSERT_FALSE(text.ok()) << spec;
    EXPECT_EQ(text.error().code(), ErrorCode::kUserTrap);
    EXPECT_NE(text.error().message().find(spec), std::string::npos) << text.error().message();
  }
  EXPECT_FALSE(format_integer(1, false, ".2").ok());
  EXPECT_FALSE(format_integer(1, false, "f").ok());
  EXPECT_FALSE(format_integer(1, false, ",x").ok());
  EXPECT_FALSE(format_integer(300, false, "c").ok());
  EXPECT_FALSE(format_text("a", "=5").ok());
  EXPECT_FALSE(format_text("a", "d").ok());
}

}  // namespace
}  // namespace dhpvm::stdlib
