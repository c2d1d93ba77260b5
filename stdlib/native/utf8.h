// SPDX-License-Identifier: Apache-2.0
// UTF-8, as RFC 3629 defines it: no surrogates, no overlong forms, nothing above U+10FFFF.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace dhpvm::stdlib {

constexpr std::int64_t kMaxCodePoint = 0x10ffff;
constexpr bool is_surrogate(std::int64_t value) { return value >= 0xd800 && value <= 0xdfff; }

struct CodePoint {
  std::uint32_t value = 0;
  std::uint8_t size = 0;  // in bytes; 0 when the text does not start with a code point
};

CodePoint decode_utf8(std::string_view text);

bool is_utf8(std::string_view text);

// Writes 1 to 4 bytes, and returns their number. `value` is a code point.
std::size_t encode_utf8(std::uint32_t value, char* out);

}  // namespace dhpvm::stdlib
