// SPDX-License-Identifier: Apache-2.0
#include "compiler/parse/format_spec.h"

#include <gtest/gtest.h>

#include <string>

namespace dhpvm::compiler {
namespace {

TEST(FormatSpecTest, ReadsAllParts) {
  ast::FormatSpec spec;
  std::string problem;
  ASSERT_TRUE(parse_format_spec("*^+#012,.3f", spec, problem)) << problem;
  EXPECT_EQ(spec.fill, "*");
  EXPECT_EQ(spec.align, '^');
  EXPECT_EQ(spec.sign, '+');
  EXPECT_TRUE(spec.alternate);
  EXPECT_TRUE(spec.zero);
  EXPECT_EQ(spec.width, 12u);
  EXPECT_TRUE(spec.grouping);
  EXPECT_TRUE(spec.has_precision);
  EXPECT_EQ(spec.precision, 3u);
  EXPECT_EQ(spec.type, 'f');
  ASSERT_TRUE(parse_format_spec("é>5", spec, problem));
  EXPECT_EQ(spec.fill, "é");
  EXPECT_EQ(spec.width, 5u);
  ASSERT_TRUE(parse_format_spec("<<8", spec, problem));
  EXPECT_EQ(spec.fill, "<");
  EXPECT_EQ(spec.align, '<');
  ASSERT_TRUE(parse_format_spec(">8", spec, problem));
  EXPECT_EQ(spec.fill, " ");
}

TEST(FormatSpecTest, TakesComputedNumbers) {
  ast::FormatSpec spec;
  std::string problem;
  ASSERT_TRUE(parse_format_spec("*>+\x01,.\x01g", spec, problem)) << problem;
  EXPECT_EQ(spec.fill, "*");
  EXPECT_TRUE(spec.has_precision);
  EXPECT_EQ(spec.type, 'g');
  for (const char* text : {"\x01<5", "1\x01", "\x01\x01",
                           "\x01"
                           "2",
                           ".1\x01", "5\x01f", "5.2\x01"})
    EXPECT_FALSE(parse_format_spec(text, spec, problem)) << text;
}

TEST(FormatSpecTest, RefusesTheRest) {
  ast::FormatSpec spec;
  std::string problem;
  for (const char* text :
       {"", "q", "8.f", "8..3", "10001", ".10001", "99999999999999999999", "8f3", "3,,", "f "}) {
    problem.clear();
    EXPECT_FALSE(parse_format_spec(text, spec, problem)) << text;
    EXPECT_FALSE(problem.empty()) << text;
  }
}

}  // namespace
}  // namespace dhpvm::compiler
