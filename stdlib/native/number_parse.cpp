// SPDX-License-Identifier: Apache-2.0
#include "stdlib/native/number_parse.h"

#include <charconv>
#include <limits>

#include "stdlib/native/decimal.h"

namespace dhpvm::stdlib {
namespace {

// Takes the sign off the front. std::from_chars knows no plus.
bool take_sign(std::string_view& text) {
  if (text.empty() || (text[0] != '-' && text[0] != '+')) return false;
  const bool negative = text[0] == '-';
  text.remove_prefix(1);
  return negative;
}

int take_base(std::string_view& text) {
  if (text.size() < 3 || text[0] != '0') return 10;
  const char mark = static_cast<char>(text[1] | 0x20);
  const int base = mark == 'x' ? 16 : mark == 'o' ? 8 : mark == 'b' ? 2 : 10;
  if (base != 10) text.remove_prefix(2);
  return base;
}

// Out of range: to the infinite or to 0? from_chars does not say. The power of ten of the first digit
// that counts does.
double limit_of(std::string_view text) {
  std::int64_t exponent = 0;
  const std::size_t e = text.find_first_of("eE");
  if (e != text.npos) {
    std::string_view digits = text.substr(e + 1);
    const bool negative = take_sign(digits);
    // An exponent too long for 64 bits decides by its sign alone.
    if (std::from_chars(digits.data(), digits.data() + digits.size(), exponent).ec != std::errc())
      exponent = 1'000'000'000'000;
    if (negative) exponent = -exponent;
  }
  const std::string_view mantissa = text.substr(0, e);
  const std::size_t point = std::min(mantissa.find('.'), mantissa.size());
  const std::size_t first = mantissa.find_first_of("123456789");
  if (first == mantissa.npos) return 0;
  exponent += static_cast<std::int64_t>(point) - static_cast<std::int64_t>(first);
  return exponent > 0 ? std::numeric_limits<double>::infinity() : 0;
}

// The number in a text of few digits, with or without a point among them: most numbers in files are such.
std::optional<double> parse_short_decimal(std::string_view text) {
  const char* const end = text.data() + text.size();
  std::uint64_t value = 0;
  const char* at = read_digits(text.data(), end, value);
  const std::ptrdiff_t whole = at - text.data();
  std::ptrdiff_t behind = 0;
  if (whole == 0) return {};
  if (at != end) {
    if (*at != '.') return {};
    const char* const fraction = at + 1;
    at = read_digits(fraction, end, value);
    if (at != end) return {};
    behind = at - fraction;
  }
  if (whole + behind > kExactDigits) return {};
  return nearest_decimal(value, -static_cast<int>(behind));
}

}  // namespace

std::optional<std::int64_t> parse_integer(std::string_view text) {
  const char* const end = text.data() + text.size();
  std::uint64_t few = 0;
  // So few that they fit; a zero in front may be the beginning of 0x.
  if (!text.empty() && text.size() < kExactDigits && read_digits(text.data(), end, few) == end)
    return static_cast<std::int64_t>(few);
  const bool negative = take_sign(text);
  const int base = take_base(text);
  std::uint64_t magnitude = 0;
  const auto [stop, problem] = std::from_chars(text.data(), end, magnitude, base);
  if (problem != std::errc() || stop != end) return {};
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  if (magnitude > kMost + (negative ? 1 : 0)) return {};
  return static_cast<std::int64_t>(negative ? 0 - magnitude : magnitude);
}

std::optional<double> parse_float(std::string_view text) {
  const bool negative = take_sign(text);
  // Reject forms that from_chars accepts beyond our grammar: a second minus, and nan with a payload.
  if (text.empty() || text[0] == '-' || text.back() == ')') return {};
  if (const std::optional<double> value = parse_short_decimal(text)) return negative ? -*value : *value;
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data(), end, value);
  if (stop != end || problem == std::errc::invalid_argument) return {};
  if (problem == std::errc::result_out_of_range) value = limit_of(text);
  return negative ? -value : value;
}

}  // namespace dhpvm::stdlib
