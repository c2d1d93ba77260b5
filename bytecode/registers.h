// SPDX-License-Identifier: Apache-2.0
// The representation of values in a primitive register.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

namespace dhpvm::bytecode {

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

}  // namespace dhpvm::bytecode
