// SPDX-License-Identifier: Apache-2.0
// Text to numbers. Pure functions; no locale.
#pragma once

#include <cstdint>
#include <iterator>
#include <optional>
#include <string_view>

namespace dhpvm::stdlib {

// value * 10^exponent where two numbers that an f64 holds exactly give it, so that one operation rounds correctly
// (Clinger, How to Read Floating Point Numbers Accurately, PLDI 1990). Most numbers in files are of this kind.
inline std::optional<double> exact_decimal(std::uint64_t value, int exponent) {
  constexpr double kPowers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  constexpr std::uint64_t kExactIntegers = std::uint64_t{1} << 53;
  constexpr int kMost = static_cast<int>(std::size(kPowers)) - 1;
  if (value > kExactIntegers || exponent < -kMost || exponent > kMost) return {};
  const auto magnitude = static_cast<double>(value);
  return exponent < 0 ? magnitude / kPowers[-exponent] : magnitude * kPowers[exponent];
}

// The whole text as an integer: decimal, or with the prefix 0x, 0o or 0b, after an optional sign. Nothing if
// it is anything else or does not fit.
std::optional<std::int64_t> parse_integer(std::string_view text);

// The whole text as the nearest f64: digits with an optional sign, point and exponent; nan, inf, infinity in
// any case. Overflow gives infinity, underflow 0, as in C.
std::optional<double> parse_float(std::string_view text);

}  // namespace dhpvm::stdlib
