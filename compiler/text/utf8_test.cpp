// SPDX-License-Identifier: Apache-2.0
#include "compiler/text/utf8.h"

#include <gtest/gtest.h>

#include <string>

namespace dhpvm::compiler {
namespace {

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
