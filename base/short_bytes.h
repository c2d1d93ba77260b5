// SPDX-License-Identifier: Apache-2.0
// Copies and comparisons of short texts, for which a call of the C library costs more than the bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace dhpvm {

template <typename Word>
Word word_at(const char* bytes) {
  Word word;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

namespace short_bytes {

struct Bytes16 {
  std::uint64_t words[2];
};

// Two words that overlap in the middle cover any size between one word and two.
template <typename Word>
void copy_ends(char* to, const char* from, std::size_t size) {
  const Word first = word_at<Word>(from);
  const Word last = word_at<Word>(from + size - sizeof(Word));
  std::memcpy(to, &first, sizeof first);
  std::memcpy(to + size - sizeof(Word), &last, sizeof last);
}
template <typename Word>
bool equal_ends(const char* left, const char* right, std::size_t size) {
  const std::size_t last = size - sizeof(Word);
  return ((word_at<Word>(left) ^ word_at<Word>(right)) |
          (word_at<Word>(left + last) ^ word_at<Word>(right + last))) == 0;
}

}  // namespace short_bytes

// memcpy for short texts.
inline void copy_short(char* to, const char* from, std::size_t size) {
  if (size > 32) {
    std::memcpy(to, from, size);
  } else if (size > 16) {
    short_bytes::copy_ends<short_bytes::Bytes16>(to, from, size);
  } else if (size >= 8) {
    short_bytes::copy_ends<std::uint64_t>(to, from, size);
  } else if (size >= 4) {
    short_bytes::copy_ends<std::uint32_t>(to, from, size);
  } else if (size != 0) {
    to[0] = from[0];
    to[size / 2] = from[size / 2];
    to[size - 1] = from[size - 1];
  }
}

// left == right, for short texts.
inline bool equal_short(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  const std::size_t size = a.size();
  const char* const left = a.data();
  const char* const right = b.data();
  if (size > 32) return std::memcmp(left, right, size) == 0;
  if (size > 16) {
    return short_bytes::equal_ends<std::uint64_t>(left, right, 16) &&
           short_bytes::equal_ends<std::uint64_t>(left + size - 16, right + size - 16, 16);
  }
  if (size >= 8) return short_bytes::equal_ends<std::uint64_t>(left, right, size);
  if (size >= 4) return short_bytes::equal_ends<std::uint32_t>(left, right, size);
  if (size == 0) return true;
  return left[0] == right[0] && left[size / 2] == right[size / 2] && left[size - 1] == right[size - 1];
}

}  // namespace dhpvm
