// SPDX-License-Identifier: Apache-2.0
#include "stdlib/native/json_number.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "stdlib/native/decimal.h"
#include "stdlib/native/number_parse.h"

namespace dhpvm::stdlib {
namespace {

// Digits of a number, with a point among them or not.
struct Digits {
  std::uint64_t value = 0;
  int count = 0;
  // Reads on from `at`; where the digits end.
  const char* read(const char* at, const char* end) {
    const char* const first = at;
    at = read_digits(at, end, value);
    constexpr std::ptrdiff_t kMany = 1000;
    count += static_cast<int>(at - first < kMany ? at - first : kMany);
    return at;
  }
  bool fit() const { return count <= kExactDigits; }
};

}  // namespace

JsonNumber read_json_number(std::string_view text) {
  const char* at = text.data();
  const char* const end = at + text.size();
  const bool negative = at != end && *at == '-';
  if (negative) ++at;
  Digits digits;
  const char* const first = at;
  at = digits.read(at, end);
  if (at == first) return {.end = at};
  if (*first == '0' && at - first > 1) return {.end = first + 1};

  int exponent = 0;
  bool is_integer = true;
  if (at != end && *at == '.') {
    is_integer = false;
    const int before = digits.count;
    const char* const fraction = ++at;
    at = digits.read(at, end);
    if (at == fraction) return {.end = at};
    exponent = before - digits.count;
  }
  bool short_exponent = true;
  if (at != end && (*at == 'e' || *at == 'E')) {
    is_integer = false;
    ++at;
    const bool below = at != end && *at == '-';
    if (at != end && (*at == '-' || *at == '+')) ++at;
    Digits power;
    const char* const shown = at;
    at = power.read(at, end);
    if (at == shown) return {.end = at};
    short_exponent = power.count <= 4;
    if (short_exponent) exponent += below ? -static_cast<int>(power.value) : static_cast<int>(power.value);
  }

  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  if (is_integer && digits.fit() && digits.value <= kMost + (negative ? 1 : 0) &&
      (digits.value != 0 || !negative)) {
    const auto value = static_cast<std::int64_t>(negative ? 0 - digits.value : digits.value);
    return {JsonNumberKind::kInteger, at, value, static_cast<double>(value)};
  }
  if (digits.fit() && short_exponent) {
    if (const std::optional<double> value = nearest_decimal(digits.value, exponent))
      return {JsonNumberKind::kFloat, at, 0, negative ? -*value : *value};
  }
  double value = 0;
  const auto [stop, problem] = std::from_chars(text.data(), at, value);
  // It does not say whether the number is too large or too small.
  if (problem == std::errc::result_out_of_range) {
    value = parse_float(text.substr(0, static_cast<std::size_t>(at - text.data()))).value_or(0);
  }
  if (std::isinf(value)) return {JsonNumberKind::kTooLarge, at, 0, 0};
  return {JsonNumberKind::kFloat, at, 0, value};
}

}  // namespace dhpvm::stdlib
