// SPDX-License-Identifier: Apache-2.0
// Numbers in JSON texts, as RFC 8259 writes them: no plus, no zeros in front, digits on both sides of a point.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "stdlib/native/decimal.h"

namespace dhpvm::stdlib {

// The values are those that the module `json` knows.
enum class JsonNumberKind : std::uint8_t { kInteger = 0, kFloat = 1, kNone = 2, kTooLarge = 3 };

struct JsonNumber {
  JsonNumberKind kind = JsonNumberKind::kNone;
  const char* end = nullptr;  // behind the number; where it goes wrong if there is none
  std::int64_t integer = 0;   // of kInteger: no point, no exponent, and it fits; -0 is a float
  double number = 0;          // of kInteger and kFloat: the nearest
};

// The number at the beginning of the text. The text after it is not read.
JsonNumber read_json_number(std::string_view text);

// The number in the bytes from `at` to `end`, if it has at most eight behind its sign, and no exponent; so many bytes
// in front of `end` must be there. kNone: it is no such number, or none at all.
inline JsonNumber read_json_token(const char* at, const char* end) {
  const bool negative = *at == '-';
  at += negative ? 1 : 0;
  const auto length = static_cast<std::size_t>(end - at);
  if (length - 1 >= kDigitsAtOnce) return {};  // or none
  const auto others = static_cast<unsigned>(8 * (kDigitsAtOnce - length));
  std::uint64_t digits = (eight_bytes(end - kDigitsAtOnce) ^ kEachByte * '0') >> others << others;
  // The uppermost bit of each byte that is above 9.
  constexpr std::uint64_t kNine = kEachByte * (0x7f - 9);
  const std::uint64_t odd = ((digits + kNine) | digits) & kEachByte * 0x80;
  unsigned places = 0;
  if (odd != 0) {
    const auto point = static_cast<unsigned>(std::countr_zero(odd)) / 8;
    const bool is_point = end[static_cast<int>(point) - 8] == '.' && (odd & (odd - 1)) == 0;
    if (!is_point || point == 7 || 8 * point == others) return {};
    const std::uint64_t whole = (std::uint64_t{1} << 8 * point) - 1;
    digits = (digits & ~(whole << 8 | 0xff)) | (digits & whole) << 8;
    places = 7 - point;
  }
  if (*at == '0' && length > 1 && at[1] != '.') return {};
  const std::uint64_t value = number_of_digits(digits);
  if (places == 0 && !(negative && value == 0)) {
    const auto integer = static_cast<std::int64_t>(negative ? 0 - value : value);
    return {JsonNumberKind::kInteger, end, integer, static_cast<double>(integer)};
  }
  const double number = static_cast<double>(value) / static_cast<double>(kPowersOfTen[places]);
  return {JsonNumberKind::kFloat, end, 0, negative ? -number : number};
}

// The same for most numbers of arrays, which have at most 18 digits and no exponent, without a branch on how many
// digits there are. Reads up to kShortJsonNumber bytes, which must be there. kNone: it is no such number, or none at
// all.
constexpr std::size_t kShortJsonNumber = 2 + 6 * kDigitsAtOnce;
inline JsonNumber read_short_json_number(const char* at) {
  std::uint64_t digits = 0;
  const auto read = [&digits](const char* from) {
    DigitRun run;
    const char* to = from;
    do {
      run = leading_digits(to);
      digits = digits * kPowersOfTen[run.count] + run.value;
      to += run.count;
    } while (run.count == kDigitsAtOnce && to - from < 3 * static_cast<std::ptrdiff_t>(kDigitsAtOnce));
    return to;
  };
  constexpr std::ptrdiff_t kMost = 18;
  const bool negative = *at == '-';
  at += negative ? 1 : 0;
  const char* const point = read(at);
  const std::ptrdiff_t before = point - at;
  if (before == 0 || (before > 1 && *at == '0')) return {};
  if (*point != '.') {
    if (before > kMost || (*point | 0x20) == 'e' || (negative && digits == 0)) return {};
    const auto value = static_cast<std::int64_t>(negative ? 0 - digits : digits);
    return {JsonNumberKind::kInteger, point, value, static_cast<double>(value)};
  }
  const char* const end = read(point + 1);
  const std::ptrdiff_t behind = end - point - 1;
  if (behind == 0 || before + behind > kMost || (*end | 0x20) == 'e') return {};
  const std::optional<double> value = nearest_decimal(digits, -static_cast<int>(behind));
  if (!value.has_value()) return {};
  return {JsonNumberKind::kFloat, end, 0, negative ? -*value : *value};
}

}  // namespace dhpvm::stdlib
