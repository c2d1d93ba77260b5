// SPDX-License-Identifier: Apache-2.0
#include "stdlib/native/decimal.h"

#include <array>
#include <bit>
#include <cstddef>
#include <iterator>

namespace dhpvm::stdlib {
namespace {

__extension__ using Wide = unsigned __int128;

// value * 10^exponent where two numbers that an f64 holds exactly give it, so that one operation rounds correctly
// (Clinger, How to Read Floating Point Numbers Accurately, PLDI 1990).
std::optional<double> exact_decimal(std::uint64_t value, int exponent) {
  constexpr double kPowers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  constexpr std::uint64_t kExactIntegers = std::uint64_t{1} << 53;
  constexpr int kMost = static_cast<int>(std::size(kPowers)) - 1;
  if (value > kExactIntegers || exponent < -kMost || exponent > kMost) return {};
  const auto magnitude = static_cast<double>(value);
  return exponent < 0 ? magnitude / kPowers[-exponent] : magnitude * kPowers[exponent];
}

// Powers of five as 128 bits of which the first is set, without their powers of two. From 5^0 to 5^55 they are exact;
// from 5^-27 on they are rounded up, by so little that a product with 64 bits can tell on which side of the middle
// between two f64 a number lies (Lemire, Number Parsing at a Gigabyte per Second, Software: Practice and Experience
// 51, 2021, sections 6 and 8).
constexpr int kLeastPower = -27;
constexpr int kMostPower = 55;

constexpr Wide normalised_power(int exponent) {
  Wide power = 1;
  for (int i = 0; i < (exponent < 0 ? -exponent : exponent); ++i) power *= 5;
  constexpr int kBits = 128;
  if (exponent >= 0) {
    while (power >> (kBits - 1) == 0) power <<= 1;
    return power;
  }
  // 2^n / power by long division, with the n that gives 128 bits.
  Wide quotient = 0;
  Wide rest = 1;
  while (quotient >> (kBits - 1) == 0) {
    rest <<= 1;
    quotient <<= 1;
    if (rest < power) continue;
    rest -= power;
    quotient |= 1;
  }
  return quotient + 1;
}

constexpr auto kPowersOfFive = [] {
  std::array<Wide, kMostPower - kLeastPower + 1> powers{};
  for (int i = kLeastPower; i <= kMostPower; ++i)
    powers[static_cast<std::size_t>(i - kLeastPower)] = normalised_power(i);
  return powers;
}();

// The upper 64 bits of a product, and the 64 below: more are computed only where they could matter.
struct Product {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
};

constexpr int kMantissaBits = 52;
constexpr int kSpareBits = 64 - kMantissaBits - 3;  // of the upper half, below the bit that rounds

Product product(std::uint64_t digits, Wide power) {
  const Wide first = Wide{digits} * static_cast<std::uint64_t>(power >> 64);
  Product made{static_cast<std::uint64_t>(first >> 64), static_cast<std::uint64_t>(first)};
  constexpr std::uint64_t kSpare = (std::uint64_t{1} << kSpareBits) - 1;
  if ((made.high & kSpare) != kSpare) return made;
  const Wide second = Wide{digits} * static_cast<std::uint64_t>(power);
  const auto carried = static_cast<std::uint64_t>(second >> 64);
  made.low += carried;
  if (made.low < carried) ++made.high;
  return made;
}

// value * 10^exponent, for a value that is not 0.
std::optional<double> rounded_product(std::uint64_t value, int exponent) {
  if (exponent < kLeastPower || exponent > kMostPower) return {};
  const int shift = std::countl_zero(value);
  const auto [high, low] =
      product(value << shift, kPowersOfFive[static_cast<std::size_t>(exponent - kLeastPower)]);
  const int upper = static_cast<int>(high >> 63);
  const int below = upper + kSpareBits;
  // The bits of the result, and one more, which rounds.
  std::uint64_t bits = high >> below;
  // Exactly in the middle between two results, the even one is the nearest. Other powers leave no such products.
  constexpr int kLeastHalves = -4;
  constexpr int kMostHalves = 23;
  const bool halves = exponent >= kLeastHalves && exponent <= kMostHalves;
  if (halves && low <= 1 && (bits & 3) == 1 && bits << below == high) bits &= ~std::uint64_t{1};
  bits += bits & 1;
  bits >>= 1;
  // The power of two of the first bit: 217706 / 2^16 is log2(10) for these exponents.
  constexpr int kBias = 1023;
  int power = ((217706 * exponent) >> 16) + 63 + upper - shift + kBias;
  if (bits >> (kMantissaBits + 1) != 0) {
    bits >>= 1;
    ++power;
  }
  constexpr std::uint64_t kMantissa = (std::uint64_t{1} << kMantissaBits) - 1;
  return std::bit_cast<double>(static_cast<std::uint64_t>(power) << kMantissaBits | (bits & kMantissa));
}

}  // namespace

const char* read_digits(const char* at, const char* end, std::uint64_t& value) {
  while (static_cast<std::size_t>(end - at) >= kDigitsAtOnce) {
    const DigitRun run = leading_digits(at);
    value = value * kPowersOfTen[run.count] + run.value;
    at += run.count;
    if (run.count < kDigitsAtOnce) return at;
  }
  for (; at != end && *at >= '0' && *at <= '9'; ++at)
    value = value * 10 + static_cast<std::uint64_t>(*at - '0');
  return at;
}

std::optional<double> nearest_decimal(std::uint64_t value, int exponent) {
  if (const std::optional<double> exact = exact_decimal(value, exponent)) return exact;
  return value == 0 ? 0.0 : rounded_product(value, exponent);
}

}  // namespace dhpvm::stdlib
