// SPDX-License-Identifier: Apache-2.0
#include "compiler/parse/format_spec.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/text/utf8.h"

namespace dhpvm::compiler {
namespace {

constexpr std::string_view kAligns = "<>^=";
constexpr std::string_view kSigns = "+- ";
constexpr std::string_view kTypes = "bcdeEfFgGosxX%";
// Wider than any terminal, and small enough that a typing error does not exhaust memory.
constexpr std::uint32_t kLargest = 10'000;

bool contains(std::string_view set, char c) { return set.find(c) != set.npos; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Removes digits, or a computed number, from the front of `rest`. False if the number is above kLargest.
bool take_number(std::string_view& rest, std::uint32_t& value) {
  value = 0;
  if (!rest.empty() && rest.front() == kComputedNumber) {
    rest.remove_prefix(1);
    return true;
  }
  while (!rest.empty() && is_digit(rest.front())) {
    value = std::min(value * 10 + static_cast<std::uint32_t>(rest.front() - '0'), kLargest + 1);
    rest.remove_prefix(1);
  }
  return value <= kLargest;
}

bool take(std::string_view& rest, char c) {
  if (rest.empty() || rest.front() != c) return false;
  rest.remove_prefix(1);
  return true;
}

}  // namespace

bool parse_format_spec(std::string_view text, ast::FormatSpec& spec, std::string& problem) {
  spec = {};
  spec.text = text;
  std::string_view rest = text;
  if (rest.empty()) {
    problem = "there is nothing after the colon";
    return false;
  }
  const CodePoint first = decode_utf8(rest);
  if (rest.front() != kComputedNumber && rest.size() > first.bytes && contains(kAligns, rest[first.bytes])) {
    spec.fill = std::string(rest.substr(0, first.bytes));
    spec.align = rest[first.bytes];
    rest.remove_prefix(first.bytes + 1);
  } else if (contains(kAligns, rest.front())) {
    spec.align = rest.front();
    rest.remove_prefix(1);
  }
  if (!rest.empty() && contains(kSigns, rest.front())) {
    spec.sign = rest.front();
    rest.remove_prefix(1);
  }
  spec.alternate = take(rest, '#');
  spec.zero = take(rest, '0');
  if (!take_number(rest, spec.width)) {
    problem = fmt::format("the width is above {}", kLargest);
    return false;
  }
  spec.grouping = take(rest, ',');
  if (take(rest, '.')) {
    if (rest.empty() || (!is_digit(rest.front()) && rest.front() != kComputedNumber)) {
      problem = "there is no precision after the point";
      return false;
    }
    spec.has_precision = true;
    if (!take_number(rest, spec.precision)) {
      problem = fmt::format("the precision is above {}", kLargest);
      return false;
    }
  }
  if (!rest.empty() && contains(kTypes, rest.front())) {
    spec.type = rest.front();
    rest.remove_prefix(1);
  }
  if (!rest.empty()) {
    problem = contains(rest, kComputedNumber)
                  ? "braces stand in place of the whole width, or of the whole precision"
                  : fmt::format("`{}` does not belong here", rest);
    return false;
  }
  return true;
}

}  // namespace dhpvm::compiler
