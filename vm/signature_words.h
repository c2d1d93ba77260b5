// SPDX-License-Identifier: Apache-2.0
// Reads the text of a native or host function's signature word by word: "(str, [const f64, 2]) -> i64".
#pragma once

#include <array>
#include <cctype>
#include <string_view>

namespace dhpvm::vm {

// Primitive types in the order of bytecode::Kind and of the public API's Kind.
inline constexpr std::array<std::string_view, 11> kNumberNames = {"bool", "i8",  "u8",  "i16", "u16", "i32",
                                                                  "u32",  "i64", "u64", "f32", "f64"};

// Blanks between words mean nothing.
class SignatureWords {
 public:
  explicit SignatureWords(std::string_view text) : rest_(text) {}

  bool at_end() {
    skip_blanks();
    return rest_.empty();
  }
  // Whether this character comes next.
  bool peek(char c) {
    skip_blanks();
    return rest_.starts_with(c);
  }
  // Takes the token if it comes next.
  bool accept(std::string_view token) {
    skip_blanks();
    if (!rest_.starts_with(token)) return false;
    rest_.remove_prefix(token.size());
    return true;
  }
  // Takes the letters and digits that come next, which may be none.
  std::string_view take_word() {
    skip_blanks();
    std::size_t length = 0;
    while (length < rest_.size() && std::isalnum(static_cast<unsigned char>(rest_[length])) != 0) ++length;
    const std::string_view word = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return word;
  }

 private:
  void skip_blanks() {
    while (rest_.starts_with(' ')) rest_.remove_prefix(1);
  }

  std::string_view rest_;
};

}  // namespace dhpvm::vm
