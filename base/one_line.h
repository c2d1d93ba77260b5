// SPDX-License-Identifier: Apache-2.0
// Text for one line of a log or message: errors, and text from other processes.
#pragma once

#include <string>
#include <string_view>

#include <fmt/format.h>

#include "dhpvm/result.h"

namespace dhpvm {

// The messages of the error and its causes, on one line and without their codes.
inline std::string one_line(const Error& error) {
  std::string text = error.message();
  for (const Error* cause = error.cause(); cause != nullptr; cause = cause->cause()) {
    text += ": " + cause->message();
  }
  return text;
}

// Text from an untrusted source, cut at `most` bytes and without terminals' control characters.
inline std::string printable(std::string_view text, std::size_t most) {
  std::string kept(text.substr(0, most));
  std::erase_if(kept, [](char letter) {
    const auto code = static_cast<unsigned char>(letter);
    return code < ' ' || code == 0x7f;
  });
  return kept;
}

// A name from an untrusted source, in quotes that it cannot end, and without terminals' control characters.
inline std::string quoted_name(std::string_view name) {
  std::string text = "'";
  for (const char letter : name) {
    const auto code = static_cast<unsigned char>(letter);
    if (code < ' ' || code == 0x7f || letter == '\'' || letter == '\\') {
      text += fmt::format("\\x{:02x}", code);
    } else {
      text += letter;
    }
  }
  return text + "'";
}

}  // namespace dhpvm
