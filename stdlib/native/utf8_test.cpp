// SPDX-License-Identifier: Apache-2.0
#include "stdlib/native/utf8.h"

#include <gtest/gtest.h>

#include <string>

namespace dhpvm::stdlib {
namespace {

TEST(Utf8, EveryCodePointComesBack) {
  for (std::uint32_t value = 0; value <= kMaxCodePoint; ++value) {
    if (is_surrogate(value)) continue;
    char buffer[4];
    const std::size_t size = encode_utf8(value, buffer);
    const CodePoint point = decode_utf8({buffer, size});
    ASSERT_EQ(point.value, value);
    ASSERT_EQ(point.size, size);
    ASSERT_FALSE(size > 1 && is_utf8({buffer, size - 1})) << "a truncated code point passed: " << value;
  }
}

TEST(Utf8, RefusesWhatIsNot) {
  for (const std::string bad :
       {"\x80", "\xc0\xaf", "\xc1\xbf", "\xe0\x80\xaf", "\xed\xa0\x80", "\xed\xbf\xbf", "\xf0\x80\x80\xaf",
        "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff", "\xe2\x82", "\xe2\x28\xa1"}) {
    EXPECT_FALSE(is_utf8(bad));
    EXPECT_FALSE(is_utf8("ok" + bad));
  }
  EXPECT_TRUE(is_utf8(""));
  EXPECT_TRUE(is_utf8("plain, é, €, 😀"));
}

}  // namespace
}  // namespace dhpvm::stdlib
