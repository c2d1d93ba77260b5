// SPDX-License-Identifier: Apache-2.0
#include "stdlib/native/number_format.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

#include "base/error.h"

namespace dhpvm::stdlib {
namespace {

// Wide enough for any table, and small enough that a hostile spec cannot ask for gigabytes.
constexpr int kMaxWidth = 100'000;
constexpr int kMaxPrecision = 1'100;  // 1074 digits write every f64 exactly

bool is_align(char c) { return c == '<' || c == '>' || c == '^' || c == '='; }

// Bytes of the code point at the start of `text`; 1 where it is not UTF-8.
std::size_t code_point_size(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  const std::size_t size = first < 0xc0 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  return std::min(size, text.size());
}

std::size_t count_code_points(std::string_view text) {
  std::size_t count = 0;
  for (const char c : text) count += (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  return count;
}

class SpecReader {
 public:
  explicit SpecReader(std::string_view text) : all_(text), rest_(text) {}

  Result<FormatSpec> read() {
    FormatSpec spec;
    bool fill_given = false;
    if (!rest_.empty()) {
      const std::size_t fill = code_point_size(rest_);
      if (fill < rest_.size() && is_align(rest_[fill])) {
        spec.fill = rest_.substr(0, fill);
        spec.align = rest_[fill];
        fill_given = true;
        rest_.remove_prefix(fill + 1);
      } else if (is_align(rest_[0])) {
        spec.align = take();
      }
    }
    if (next_is("+- ")) spec.sign = take();
    if (next_is("#")) spec.alternate = take() != 0;
    if (next_is("0")) {
      take();
      if (!fill_given) spec.fill = "0";
      if (spec.align == 0) spec.align = '=';
    }
    DHPVM_ASSIGN(spec.width, number("width", kMaxWidth, 0));
    if (next_is(",_")) spec.grouping = take();
    if (next_is(".")) {
      take();
      DHPVM_ASSIGN(spec.precision, number("precision", kMaxPrecision, -1));
      if (spec.precision < 0) return error("digits must follow the point");
    }
    if (!rest_.empty()) spec.type = take();
    if (!rest_.empty()) return error("there is something after the type");
    return spec;
  }

 private:
  bool next_is(std::string_view set) const { return !rest_.empty() && set.find(rest_[0]) != set.npos; }
  char take() {
    const char c = rest_[0];
    rest_.remove_prefix(1);
    return c;
  }
  Result<int> number(std::string_view what, int limit, int missing) {
    int value = missing;
    while (next_is("0123456789")) {
      value = std::max(value, 0) * 10 + (take() - '0');
      if (value > limit) return too_large(what, value, limit);
    }
    return value;
  }
  // Numbers in braces that are negative come as the unsigned numbers of the same bits.
  Error too_large(std::string_view what, int begun, int limit) {
    auto value = static_cast<std::uint64_t>(begun);
    while (next_is("0123456789")) value = value * 10 + static_cast<std::uint64_t>(take() - '0');
    const auto given = static_cast<std::int64_t>(value);
    if (given >= 0) return error(fmt::format("the {} is above {}", what, limit));
    return dhpvm::error(ErrorCode::kUserTrap, "the {} of a format is {}, and cannot be negative", what,
                        given);
  }
  Error error(std::string_view what) const {
    return dhpvm::error(ErrorCode::kUserTrap, "the format specification '{}' is wrong: {}", all_, what);
  }

  std::string_view all_, rest_;
};

Error unsuitable(std::string_view spec, std::string_view what) {
  return error(ErrorCode::kUserTrap, "the format specification '{}' is wrong: {}", spec, what);
}

void append_fill(std::string& out, std::string_view fill, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) out += fill;
}

// `head` (sign and prefix) and `body`, filled up to the width. Numbers lean right, text leans left.
std::string pad(const FormatSpec& spec, std::string_view head, std::string_view body, char default_align) {
  const std::size_t size = count_code_points(head) + count_code_points(body);
  const auto width = static_cast<std::size_t>(spec.width);
  const std::size_t missing = width > size ? width - size : 0;
  const char align = spec.align != 0 ? spec.align : default_align;
  const std::size_t before = align == '>' ? missing : align == '^' ? missing / 2 : 0;
  std::string out;
  out.reserve(head.size() + body.size() + missing * spec.fill.size());
  append_fill(out, spec.fill, before);
  out += head;
  if (align == '=') append_fill(out, spec.fill, missing);
  out += body;
  if (align == '<' || align == '^') append_fill(out, spec.fill, missing - before);
  return out;
}

// Separators between groups of digits, up to the first character that is none (the point, the exponent). With
// zeros as filling the zeros are grouped, too, as in Python: f"{1234:09,}" is 0,001,234.
std::string group(std::string_view digits, char separator, std::size_t group_size, std::size_t least_width) {
  const std::string_view digit_set = group_size == 3 ? "0123456789" : "0123456789abcdefABCDEF";
  const std::size_t end = std::min(digits.find_first_not_of(digit_set), digits.size());
  const std::string_view tail = digits.substr(end);
  std::string reversed;
  std::size_t count = 0;
  for (std::size_t i = end; i > 0 || reversed.size() + tail.size() < least_width; ++count) {
    if (count != 0 && count % group_size == 0) {
      reversed += separator;
      if (i == 0 && reversed.size() + tail.size() >= least_width) {
        reversed += '0';  // a separator never stands first
        break;
      }
    }
    reversed += i > 0 ? digits[--i] : '0';
  }
  std::reverse(reversed.begin(), reversed.end());
  return reversed.append(tail);
}

std::string finish_number(const FormatSpec& spec, const std::string& head, std::string body,
                          std::size_t group_size) {
  if (spec.grouping != 0) {
    const bool zeros = spec.fill == "0" && spec.align == '=';
    const auto width = static_cast<std::size_t>(spec.width);
    body = group(body, spec.grouping, group_size, zeros && width > head.size() ? width - head.size() : 0);
  }
  return pad(spec, head, body, '>');
}

std::string sign_text(const FormatSpec& spec, bool negative) {
  if (negative) return "-";
  return spec.sign == '-' ? std::string() : std::string(1, spec.sign);
}

// A finite number above or equal to zero as its digits and the power of ten of the first one.
struct Decimal {
  char digits[kShortestSize];
  int count = 0;
  int exponent = 0;
};

Decimal read_scientific(std::string_view text) {
  Decimal decimal;
  const std::size_t e = text.find('e');
  for (const char c : text.substr(0, e)) {
    if (c != '.' && decimal.count < static_cast<int>(sizeof decimal.digits))
      decimal.digits[decimal.count++] = c;
  }
  const char* exponent = text.data() + e + 1;
  if (*exponent == '+') ++exponent;
  std::from_chars(exponent, text.data() + text.size(), decimal.exponent);
  return decimal;
}

// Plain notation where it is easy to read, an exponent elsewhere. std::to_chars would choose by length alone
// and write 100000.0 as 1e+05.
constexpr int kLeastPlainExponent = -4;
constexpr int kMostPlainExponent = 15;

template <typename T>
std::string_view shortest_of(T value, char* buffer) {
  if (std::isnan(value)) return "nan";  // its sign says nothing and differs between machines
  char* out = buffer;
  if (std::signbit(value)) *out++ = '-';
  if (std::isinf(value)) {
    std::memcpy(out, "inf", 3);
    return {buffer, static_cast<std::size_t>(out + 3 - buffer)};
  }
  char scientific[kShortestSize];
  const auto end = std::to_chars(scientific, scientific + sizeof scientific, std::abs(value),
                                 std::chars_format::scientific)
                       .ptr;
  const Decimal decimal = read_scientific({scientific, static_cast<std::size_t>(end - scientific)});
  if (decimal.exponent < kLeastPlainExponent || decimal.exponent > kMostPlainExponent) {
    std::memcpy(out, scientific, static_cast<std::size_t>(end - scientific));
    out += end - scientific;
    return {buffer, static_cast<std::size_t>(out - buffer)};
  }
  // Position i of the text stands for the power 10^i; there is always one digit on each side of the point.
  const int last = std::min(decimal.exponent - decimal.count + 1, -1);
  for (int power = std::max(decimal.exponent, 0); power >= last; --power) {
    const int digit = decimal.exponent - power;
    if (power == -1) *out++ = '.';
    *out++ = digit >= 0 && digit < decimal.count ? decimal.digits[digit] : '0';
  }
  return {buffer, static_cast<std::size_t>(out - buffer)};
}

std::string fixed_text(double value, std::chars_format format, int precision) {
  // 309 digits before the point, the point, and `precision` digits behind it.
  std::string buffer(320 + static_cast<std::size_t>(precision), '\0');
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, format, precision);
  buffer.resize(static_cast<std::size_t>(result.ptr - buffer.data()));
  return buffer;
}

std::string finite_text(double magnitude, const FormatSpec& spec) {
  const int precision = spec.precision < 0 ? 6 : spec.precision;
  switch (spec.type) {
    case 'e':
    case 'E': return fixed_text(magnitude, std::chars_format::scientific, precision);
    case 'f':
    case 'F': return fixed_text(magnitude, std::chars_format::fixed, precision);
    case '%': return fixed_text(magnitude * 100, std::chars_format::fixed, precision) + "%";
    case 'g':
    case 'G': return fixed_text(magnitude, std::chars_format::general, std::max(precision, 1));
    default: break;
  }
  if (spec.precision < 0) {
    char buffer[kShortestSize];
    return std::string(shortest(magnitude, buffer));
  }
  // No type, but a precision: as g, with at least one digit behind the point, and so with an exponent
  // one digit earlier.
  const int digits = std::max(precision, 1);
  std::string text = fixed_text(magnitude, std::chars_format::scientific, digits - 1);
  const int exponent = read_scientific(text).exponent;
  if (exponent >= kLeastPlainExponent && exponent < digits - 1) {
    text = fixed_text(magnitude, std::chars_format::general, digits);
    if (text.find('.') == text.npos) text += ".0";
    return text;
  }
  const std::size_t e = text.find('e');
  std::size_t mantissa = e;
  if (text.find('.') < e) {
    while (text[mantissa - 1] == '0') --mantissa;
    if (text[mantissa - 1] == '.') --mantissa;
  }
  return text.erase(mantissa, e - mantissa);
}

}  // namespace

Result<FormatSpec> parse_format_spec(std::string_view spec) { return SpecReader(spec).read(); }

Result<std::string> format_integer(std::uint64_t magnitude, bool negative, std::string_view spec_text) {
  DHPVM_ASSIGN(const FormatSpec spec, parse_format_spec(spec_text));
  if (spec.precision >= 0) return unsuitable(spec_text, "an integer has no precision");
  int base = 10;
  std::string_view prefix;
  switch (spec.type) {
    case 0:
    case 'd': break;
    case 'b': base = 2, prefix = "0b"; break;
    case 'o': base = 8, prefix = "0o"; break;
    case 'x': base = 16, prefix = "0x"; break;
    case 'X': base = 16, prefix = "0X"; break;
    case 'c': {
      if (negative || magnitude > 0x7f) return unsuitable(spec_text, "c needs a value of 0 to 127");
      const char c = static_cast<char>(magnitude);
      return pad(spec, "", std::string_view(&c, 1), '<');
    }
    default: return unsuitable(spec_text, "the type of an integer is one of b c d o x X");
  }
  if (spec.grouping == ',' && base != 10)
    return unsuitable(spec_text, "only decimal numbers take a comma; try _");
  char digits[64];
  const auto end = std::to_chars(digits, digits + sizeof digits, magnitude, base).ptr;
  std::string body(digits, end);
  if (spec.type == 'X')
    std::transform(body.begin(), body.end(), body.begin(), [](char c) { return c >= 'a' ? c - 32 : c; });
  std::string head = sign_text(spec, negative);
  if (spec.alternate) head += prefix;
  return finish_number(spec, head, std::move(body), base == 10 ? 3 : 4);
}

Result<std::string> format_float(double value, std::string_view spec_text) {
  DHPVM_ASSIGN(FormatSpec spec, parse_format_spec(spec_text));
  if (spec.type != 0 && std::string_view("eEfFgG%").find(spec.type) == std::string_view::npos) {
    return unsuitable(spec_text, "the type of a float is one of e E f F g G %");
  }
  const bool negative = std::signbit(value) && !std::isnan(value);
  std::string head = sign_text(spec, negative);
  std::string body;
  if (std::isfinite(value)) {
    body = finite_text(std::abs(value), spec);
  } else {
    body = std::isnan(value) ? "nan" : "inf";
    if (spec.type == '%') body += '%';
    spec.grouping = 0;
  }
  if (spec.type >= 'A' && spec.type <= 'Z') {
    std::transform(body.begin(), body.end(), body.begin(),
                   [](char c) { return c >= 'a' && c <= 'z' ? c - 32 : c; });
  }
  return finish_number(spec, head, std::move(body), 3);
}

Result<std::string> format_text(std::string_view text, std::string_view spec_text) {
  DHPVM_ASSIGN(const FormatSpec spec, parse_format_spec(spec_text));
  if (spec.type != 0 && spec.type != 's') return unsuitable(spec_text, "the type of text is s");
  if (spec.align == '=' || spec.sign != '-' || spec.alternate || spec.grouping != 0) {
    return unsuitable(spec_text, "text takes neither sign, #, 0, grouping nor the alignment =");
  }
  if (spec.precision >= 0) {
    std::size_t end = 0;
    for (int i = 0; i < spec.precision && end < text.size(); ++i) end += code_point_size(text.substr(end));
    text = text.substr(0, end);
  }
  return pad(spec, "", text, '<');
}

std::string_view shortest(double value, char* buffer) { return shortest_of(value, buffer); }
std::string_view shortest(float value, char* buffer) { return shortest_of(value, buffer); }

}  // namespace dhpvm::stdlib
