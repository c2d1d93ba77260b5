// SPDX-License-Identifier: Apache-2.0
#include "compiler/check/foreign_formats.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <optional>

namespace dhpvm::compiler {
namespace {

constexpr std::string_view kDigits = "0123456789";
constexpr std::string_view kTypes = "dixufegsc";
constexpr std::size_t kLongest = 80;  // of a formatted string in a message

struct Placeholder {
  std::size_t size = 0;  // 0: there is none
  std::string spec;      // behind the colon in a formatted string
  std::optional<std::size_t> position;
};

// The placeholder of C at the beginning of the text.
Placeholder percent_at(std::string_view text) {
  if (!text.starts_with('%')) return {};
  const std::size_t end = text.find_first_not_of("0123456789.-+#l", 1);
  if (end == std::string_view::npos || kTypes.find(text[end]) == std::string_view::npos) return {};
  std::string flags;
  for (const char c : text.substr(1, end - 1)) {
    if (c != 'l') flags += c;
  }
  const char type = text[end];
  const bool is_text = type == 's' || type == 'c';
  if (flags.starts_with('-')) {
    flags[0] = '<';
  } else if (is_text && !flags.empty() && flags[0] != '.') {
    flags.insert(0, ">");
  }
  if (!is_text && std::string_view("diu").find(type) == std::string_view::npos) flags += type;
  return {end + 1, flags, std::nullopt};
}

// The placeholder in braces at the beginning of the text.
Placeholder brace_at(std::string_view text) {
  if (!text.starts_with('{')) return {};
  const std::size_t end = text.find_first_not_of(kDigits, 1);
  if (end == std::string_view::npos || (text[end] != '}' && text[end] != ':')) return {};
  const std::size_t close = text.find('}', end);
  if (close == std::string_view::npos) return {};
  Placeholder found{close + 1, {}, std::nullopt};
  if (end > 2) return {};  // a position above 9
  if (end == 2) found.position = static_cast<std::size_t>(text[1] - '0');
  if (close > end) found.spec = text.substr(end + 1, close - end - 1);
  return found;
}

bool contains_placeholder(std::string_view text, char first,
                          Placeholder (*placeholder_at)(std::string_view)) {
  for (std::size_t at = text.find(first); at != std::string_view::npos; at = text.find(first, at + 1)) {
    if (placeholder_at(text.substr(at)).size != 0) return true;
  }
  return false;
}

// Whether a value can stand in the braces of a formatted string.
bool fits_in_braces(std::string_view value) {
  return value.find_first_of("\"{}\\\n:") == std::string_view::npos;
}

}  // namespace

bool has_percent_format(std::string_view text) { return contains_placeholder(text, '%', percent_at); }

bool has_brace_format(std::string_view text) { return contains_placeholder(text, '{', brace_at); }

std::string_view name_in_braces(std::string_view text) {
  for (std::size_t at = text.find('{'); at != std::string_view::npos; at = text.find('{', at + 1)) {
    const std::size_t end = text.find('}', at);
    if (end == std::string_view::npos) break;
    const std::string_view name = text.substr(at + 1, end - at - 1);
    const auto letter = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
    if (!name.empty() && std::all_of(name.begin(), name.end(), letter)) return name;
  }
  return {};
}

std::string formatted_string_for(std::string_view literal, std::span<const std::string_view> values) {
  if (literal.size() < 2 || literal.front() != '"' || literal.starts_with("\"\"\"")) return {};
  std::string_view rest = literal.substr(1, literal.size() - 2);
  if (rest.ends_with("\\n")) rest.remove_suffix(2);  // print ends the line
  const bool percents = has_percent_format(rest);
  std::string made = "f\"";
  std::size_t used = 0;
  while (!rest.empty()) {
    const Placeholder found = percents ? percent_at(rest) : brace_at(rest);
    if (found.size != 0) {
      const std::size_t position = found.position.value_or(used);
      if (position >= values.size() || !fits_in_braces(values[position])) return {};
      used = std::max(used, position + 1);
      made += '{' + std::string(values[position]) + (found.spec.empty() ? "" : ":") + found.spec + '}';
      rest.remove_prefix(found.size);
      continue;
    }
    const std::size_t size = rest.starts_with('\\') || (percents && rest.starts_with("%%")) ? 2 : 1;
    if (rest[0] == '{' || rest[0] == '}') made += rest[0];
    made += rest[0] == '%' && size == 2 ? "%" : rest.substr(0, size);
    rest.remove_prefix(std::min(size, rest.size()));
  }
  made += '"';
  return used == values.size() && made.size() <= kLongest ? made : std::string();
}

}  // namespace dhpvm::compiler
