// SPDX-License-Identifier: Apache-2.0
// Values in registers, and the conversions between them that C++ leaves undefined.
#pragma once

#include <cstdint>
#include <limits>

#include "bytecode/registers.h"

namespace dhpvm::vm {

using bytecode::get;
using bytecode::put;

// Towards zero, saturating; NaN gives 0.
template <typename To, typename From>
To saturate(From value) {
  // 2^31, 2^32, 2^63, 2^64 and the most negative integers are exact in both floating-point types.
  constexpr From kBelow = static_cast<From>(std::numeric_limits<To>::min());
  constexpr From kAbove =
      From{2} * static_cast<From>(std::uint64_t{1} << (std::numeric_limits<To>::digits - 1));
  if (value >= kAbove) return std::numeric_limits<To>::max();
  if (value >= kBelow) return static_cast<To>(value);
  return value < kBelow ? std::numeric_limits<To>::min() : To{0};
}

}  // namespace dhpvm::vm
