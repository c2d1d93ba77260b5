// SPDX-License-Identifier: Apache-2.0
// Decimal digits to numbers: what all readers of numbers have in common. Pure functions.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>

namespace dhpvm::stdlib {

// So many decimal digits fit in 64 bits, whatever they are.
constexpr int kExactDigits = 19;

// Reads the digits from `at` on into `value`, each as value * 10 + digit; where they end. More than kExactDigits wrap
// around.
const char* read_digits(const char* at, const char* end, std::uint64_t& value);

// Digits at once, in the bytes of a word.
constexpr std::size_t kDigitsAtOnce = 8;
constexpr std::uint64_t kEachByte = 0x0101010101010101;
// The number that eight digits are, 0 to 9 each, the first in the lowest byte.
constexpr std::uint64_t number_of_digits(std::uint64_t bytes) {
  // Neighbours are joined to pairs, pairs to fours, fours to the whole.
  bytes = bytes * 10 + (bytes >> 8);
  constexpr std::uint64_t kPair = 0x000000ff000000ff;
  constexpr std::uint64_t kFirst = 1000000ULL << 32 | 100;
  constexpr std::uint64_t kSecond = 10000ULL << 32 | 1;
  return ((bytes & kPair) * kFirst + (bytes >> 16 & kPair) * kSecond) >> 32;
}
// Eight bytes, the first of which is the lowest.
inline std::uint64_t eight_bytes(const char* at) {
  std::uint64_t bytes = 0;
  std::memcpy(&bytes, at, sizeof bytes);
  if constexpr (std::endian::native == std::endian::big) bytes = __builtin_bswap64(bytes);
  return bytes;
}

// The digits at the front of eight bytes: how many, and the number that they are.
struct DigitRun {
  std::uint64_t value = 0;
  unsigned count = 0;
};
// Without a branch on how many there are: numbers of few digits come in lengths that no processor foresees.
inline DigitRun leading_digits(const char* at) {
  const std::uint64_t bytes = eight_bytes(at);
  constexpr std::uint64_t kUpper = kEachByte * 0xf0;
  constexpr std::uint64_t kZeros = kEachByte * '0';
  // The upper half of a digit is 3, and stays so where 6 more are added. What a byte carries into later ones does not
  // count: it is no digit itself.
  const std::uint64_t others = ((bytes & kUpper) ^ kZeros) | (((bytes + kEachByte * 6) & kUpper) ^ kZeros);
  const auto count = static_cast<unsigned>(std::countr_zero(others)) / 8;
  if (count == 0) return {};
  // Zeros in front make eight of them, and do not count.
  return {number_of_digits((bytes - kZeros) << (64 - 8 * count)), count};
}
// 10^exponent, for so many digits as are read at once.
constexpr std::uint64_t kPowersOfTen[] = {1,       10,        100,        1'000,      10'000,
                                          100'000, 1'000'000, 10'000'000, 100'000'000};

// The f64 that is nearest to value * 10^exponent. Nothing for exponents far from 0, which are rare in files.
std::optional<double> nearest_decimal(std::uint64_t value, int exponent);

}  // namespace dhpvm::stdlib
