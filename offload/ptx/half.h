// SPDX-License-Identifier: Apache-2.0
// 16-bit floating-point numbers, computed in double with rounding to odd: the last bit records whether a sum or product
// is inexact, so that the final rounding to 16 bits is correct.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "offload/ptx/types.h"

namespace dhpvm::ptx {

// precision: bits of the significand with the leading one; least: the exponent of the smallest normal number.
struct F16 {
  static constexpr int kPrecision = 11;
  static constexpr int kLeast = -14;
};
struct BF16 {
  static constexpr int kPrecision = 8;
  static constexpr int kLeast = -126;
};
template <typename Format>
inline constexpr std::uint16_t kInfinityBits =
    static_cast<std::uint16_t>(0x7fff >> (Format::kPrecision - 1) << (Format::kPrecision - 1));
inline constexpr std::uint16_t kHalfNan = 0x7fff;

template <typename Format>
double half_value(std::uint16_t bits) {
  constexpr int kShift = Format::kPrecision - 1;
  const int exponent = (bits & 0x7fff) >> kShift;
  const int digits = bits & ((1 << kShift) - 1);
  double value = 0;
  if (exponent == kInfinityBits<Format> >> kShift) {
    value = digits == 0 ? HUGE_VAL : std::nan("");
  } else {
    const int normal = exponent == 0 ? 0 : 1;
    value = std::ldexp(digits + (normal << kShift), exponent - normal + Format::kLeast - kShift);
  }
  return (bits & 0x8000) != 0 ? -value : value;
}

// Rounds to 16 bits: to the nearest number, or as `rounding` says.
template <typename Format>
std::uint16_t half_bits(double value, Rounding rounding = Rounding::kNearest) {
  if (std::isnan(value)) return kHalfNan;
  const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const double size = std::abs(value);
  if (std::isinf(value)) return sign | kInfinityBits<Format>;
  if (size == 0) return sign;
  const int exponent = std::max(std::ilogb(size), Format::kLeast);
  const double scaled = std::ldexp(size, Format::kPrecision - 1 - exponent);
  const bool away = rounding == (sign != 0 ? Rounding::kDown : Rounding::kUp);
  const bool nearest = rounding == Rounding::kNearest || rounding == Rounding::kNone;
  const double digits = nearest ? std::nearbyint(scaled) : away ? std::ceil(scaled) : std::floor(scaled);
  // Where the digits need one more bit, the sum carries into the exponent.
  const double bits = std::ldexp(exponent - Format::kLeast, Format::kPrecision - 1) + digits;
  if (bits < kInfinityBits<Format>) return sign | static_cast<std::uint16_t>(bits);
  return sign | static_cast<std::uint16_t>(kInfinityBits<Format> - (nearest || away ? 0 : 1));
}

// a + b, with an odd last bit if it is not exact.
inline double sum_to_odd(double a, double b) {
  const double sum = a + b;
  if (!std::isfinite(sum)) return sum;
  const double of_b = sum - a;
  const double lost = (a - (sum - of_b)) + (b - of_b);
  if (lost == 0) return sum;
  std::uint64_t bits = std::bit_cast<std::uint64_t>(sum);
  if (std::signbit(lost) != std::signbit(sum)) --bits;
  return std::bit_cast<double>(bits | 1);
}

}  // namespace dhpvm::ptx
