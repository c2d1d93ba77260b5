// SPDX-License-Identifier: Apache-2.0
#include "compiler/spelling.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "compiler/format_spec.h"
#include "compiler/utf8.h"

namespace dhpvm::compiler {
namespace {

TEST(SpellingTest, MeasuresInHalfEdits) {
  EXPECT_EQ(edit_distance("width", "width", 10), 0u);
  EXPECT_EQ(edit_distance("width", "wdith", 10), 2u) << "a swap is one edit";
  EXPECT_EQ(edit_distance("width", "Width", 10), 1u) << "a change of case is half an edit";
  EXPECT_EQ(edit_distance("", "abc", 10), 6u);
  EXPECT_EQ(edit_distance("kitten", "sitting", 10), 6u);
  EXPECT_GT(edit_distance("abc", "xyzxyz", 4), 4u);
}

TEST(SpellingTest, FindsTheLikelyName) {
  const std::vector<std::string_view> names{"length", "width", "height", "X", "print"};
  EXPECT_EQ(nearest_name("lenght", names), "length");
  EXPECT_EQ(nearest_name("Height", names), "height");
  EXPECT_EQ(nearest_name("x", names), "X");
  EXPECT_EQ(nearest_name("y", names), "");
  EXPECT_EQ(nearest_name("depth", names), "");
  EXPECT_EQ(nearest_name("width", std::vector<std::string_view>{"width"}), "")
      << "it is not its own correction";
}

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

TEST(Utf8Test, DecodesWhatIsValid) {
  for (const char32_t value : {U'a', U'\u00e9', U'\u20ac', U'\U0001F600', U'\U0010FFFF'}) {
    std::string text;
    append_utf8(text, value);
    const CodePoint point = decode_utf8(text);
    EXPECT_TRUE(point.valid);
    EXPECT_EQ(point.value, value);
    EXPECT_EQ(point.bytes, text.size());
    EXPECT_EQ(first_invalid_utf8(text), text.size());
    text.pop_back();
    if (!text.empty()) {
      EXPECT_FALSE(decode_utf8(text).valid) << "cut short";
    }
  }
}

TEST(Utf8Test, RefusesWhatIsNot) {
  for (const char* text : {"\x80", "\xff", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x28\xa1"}) {
    EXPECT_FALSE(decode_utf8(text).valid);
    EXPECT_EQ(first_invalid_utf8(text), 0u);
  }
}

}  // namespace
}  // namespace dhpvm::compiler
