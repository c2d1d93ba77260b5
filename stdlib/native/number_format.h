// SPDX-License-Identifier: Apache-2.0
// Numbers and text to text, by the format specifications of formatted strings: f"{x:>8.3f}".
//
// The notation is Python's: [[fill]align][sign][#][0][width][,][.precision][type]. Pure functions; no locale.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "dhpvm/result.h"

namespace dhpvm::stdlib {

struct FormatSpec {
  std::string_view fill = " ";  // one code point
  char align = 0;               // < > ^ = or 0: by the kind of value
  char sign = '-';              // - + or blank
  bool alternate = false;       // #: prefix 0x, 0o, 0b
  char grouping = 0;            // , or _
  int width = 0;                // in code points
  int precision = -1;
  char type = 0;
};

// kUserTrap, with the spec and its error. The result refers to `spec`.
Result<FormatSpec> parse_format_spec(std::string_view spec);

// kUserTrap when the spec does not suit the kind of value ("d" for a float, a precision for an integer).
Result<std::string> format_integer(std::uint64_t magnitude, bool negative, std::string_view spec);
Result<std::string> format_float(double value, std::string_view spec);
Result<std::string> format_text(std::string_view text, std::string_view spec);

// Room for any result of the two functions below.
constexpr std::size_t kShortestSize = 40;
// The shortest text that reads back as the same number, with a point or an exponent so that it is seen to
// be no integer: 1.0, 0.1, 1e+30, -inf, nan. Writes to `buffer` (kShortestSize bytes) and returns the
// part it used.
std::string_view shortest(double value, char* buffer);
std::string_view shortest(float value, char* buffer);

}  // namespace dhpvm::stdlib
