// SPDX-License-Identifier: Apache-2.0
// Decoding of UTF-8, and the display width of characters on a terminal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace dhpvm::compiler {

struct CodePoint {
  char32_t value = 0;
  std::uint32_t bytes = 1;  // its length in the text; at least 1
  bool valid = false;       // false: `value` is U+FFFD, and `bytes` is 1
};

// The code point at the start of `text`, which is not empty. Overlong forms, surrogates and values above
// U+10FFFF are invalid.
CodePoint decode_utf8(std::string_view text);

// Appends `value`, which must be a code point other than a surrogate.
void append_utf8(std::string& text, char32_t value);

// The offset of the first byte that is not UTF-8; text.size() when all is well.
std::size_t first_invalid_utf8(std::string_view text);

// Columns on a terminal: 0 for combining marks and invisible characters, 2 for East Asian wide ones and
// emoji, otherwise 1. Covers the common blocks, which is enough to put a caret under the right character.
std::uint32_t display_width(char32_t value);

}  // namespace dhpvm::compiler
