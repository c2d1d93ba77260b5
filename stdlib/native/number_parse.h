// SPDX-License-Identifier: Apache-2.0
// Text to numbers. Pure functions; no locale.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace dhpvm::stdlib {

// The whole text as an integer: decimal, or with the prefix 0x, 0o or 0b, after an optional sign. Nothing if
// it is anything else or does not fit.
std::optional<std::int64_t> parse_integer(std::string_view text);

// The whole text as the nearest f64: digits with an optional sign, point and exponent; nan, inf, infinity in
// any case. Overflow gives infinity, underflow 0, as in C.
std::optional<double> parse_float(std::string_view text);

}  // namespace dhpvm::stdlib
