// SPDX-License-Identifier: Apache-2.0
#include "stdlib/native/utf8.h"

namespace dhpvm::stdlib {

CodePoint decode_utf8(std::string_view text) {
  if (text.empty()) return {};
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) return {first, 1};
  const std::uint8_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < size) return {};
  std::uint32_t value = first & (0x7fu >> size);
  for (std::uint8_t i = 1; i < size; ++i) {
    const auto next = static_cast<unsigned char>(text[i]);
    if ((next & 0xc0) != 0x80) return {};
    value = value << 6 | (next & 0x3f);
  }
  constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  if (value < kLeast[size] || value > kMaxCodePoint || is_surrogate(value)) return {};
  return {value, size};
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const CodePoint point = decode_utf8(text);
    if (point.size == 0) return false;
    text.remove_prefix(point.size);
  }
  return true;
}

std::size_t encode_utf8(std::uint32_t value, char* out) {
  if (value < 0x80) {
    out[0] = static_cast<char>(value);
    return 1;
  }
  const std::size_t size = value < 0x800 ? 2 : value < 0x10000 ? 3 : 4;
  for (std::size_t i = size - 1; i > 0; --i, value >>= 6) out[i] = static_cast<char>(0x80 | (value & 0x3f));
  constexpr std::uint32_t kMarks[] = {0, 0, 0xc0, 0xe0, 0xf0};
  out[0] = static_cast<char>(kMarks[size] | value);
  return size;
}

}  // namespace dhpvm::stdlib
