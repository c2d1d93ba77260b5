// SPDX-License-Identifier: Apache-2.0
// How values stand in a primitive register, and the conversions between them that C++ leaves undefined.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace dhpvm::vm {

// A register read as a T: its low bits.
template <typename T>
T get(std::uint64_t value) {
  if constexpr (std::is_same_v<T, double>) {
    return std::bit_cast<double>(value);
  } else if constexpr (std::is_same_v<T, float>) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(value));
  } else {
    return static_cast<T>(value);
  }
}

// A T as a register: values up to 32 bits are extended to 32 by their signedness, then to 64 with zeros.
template <typename T>
std::uint64_t put(T value) {
  if constexpr (std::is_same_v<T, double>) {
    return std::bit_cast<std::uint64_t>(value);
  } else if constexpr (std::is_same_v<T, float>) {
    return std::bit_cast<std::uint32_t>(value);
  } else if constexpr (sizeof(T) == 8) {
    return static_cast<std::uint64_t>(value);
  } else if constexpr (std::is_signed_v<T>) {
    return static_cast<std::uint32_t>(static_cast<std::int32_t>(value));
  } else {
    return static_cast<std::uint32_t>(value);
  }
}

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
