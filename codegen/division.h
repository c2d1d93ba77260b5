// SPDX-License-Identifier: Apache-2.0
// Division by an integer that is invariant during a launch: the host computes constants, and each work-item multiplies
// by them. Granlund and Montgomery, "Division by Invariant Integers using Multiplication" (1994).
#pragma once

#include <bit>
#include <cstdint>

namespace dhpvm::codegen {

// For a divisor d other than 0, using its magnitude |d|. `high(a, b)` is the upper half of the product:
//   x / |d| = (high(x, multiplier) + x) >> shift               for x up to 2^63, in 64 bits
//   x / |d| = (high(x, small_multiplier) + x) >> small_shift   for x below 2^31, in 32 bits
struct Division {
  std::uint64_t multiplier = 0;
  std::uint32_t shift = 0;
  std::uint32_t small_multiplier = 0;
  std::uint32_t small_shift = 0;
};

constexpr Division division_by(std::int64_t divisor) {
  const auto bits = static_cast<std::uint64_t>(divisor);
  const std::uint64_t magnitude = divisor < 0 ? 0 - bits : bits;
  if (magnitude == 0) return {};
  Division division;
  division.shift = static_cast<std::uint32_t>(std::bit_width(magnitude - 1));
  // Below the divisor, so that the quotients fit.
  const std::uint64_t rest = (std::uint64_t{1} << division.shift) - magnitude;
  using Wide = unsigned __int128;
  division.multiplier = static_cast<std::uint64_t>((Wide{rest} << 64) / magnitude) + 1;
  if (magnitude >= std::uint64_t{1} << 31) {
    division.small_shift = 31;  // everything below 2^31 gives 0
    return division;
  }
  division.small_multiplier = static_cast<std::uint32_t>((rest << 32) / magnitude + 1);
  division.small_shift = division.shift;
  return division;
}

}  // namespace dhpvm::codegen
