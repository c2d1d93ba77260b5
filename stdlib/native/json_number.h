// SPDX-License-Identifier: Apache-2.0
// Numbers in JSON texts, as RFC 8259 writes them: no plus, no zeros in front, digits on both sides of a point.
#pragma once

#include <cstdint>
#include <string_view>

namespace dhpvm::stdlib {

// The values are those that the module `json` knows.
enum class JsonNumberKind : std::uint8_t { kInteger = 0, kFloat = 1, kNone = 2, kTooLarge = 3 };

struct JsonNumber {
  JsonNumberKind kind = JsonNumberKind::kNone;
  const char* end = nullptr;  // behind the number; where it goes wrong if there is none
  std::int64_t integer = 0;   // of kInteger: no point, no exponent, and it fits; -0 is a float
  double number = 0;          // of kInteger and kFloat: the nearest
};

// The number at the beginning of the text. The text after it is not read.
JsonNumber read_json_number(std::string_view text);

}  // namespace dhpvm::stdlib
