// SPDX-License-Identifier: Apache-2.0
#include "options.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <numeric>

namespace dhpvm::tools {
namespace {

Error invalid(std::string message) { return Error(ErrorCode::kInvalidArgument, std::move(message)); }
std::string quoted(std::string_view text) { return "'" + std::string(text) + "'"; }

// The edit distance, where exchanging two neighbours counts as one mistake (optimal string alignment).
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before;  // the row for the letter before the last one
  std::vector<std::size_t> last(b.size() + 1);
  std::iota(last.begin(), last.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::vector<std::size_t> row{i + 1};
    for (std::size_t j = 0; j < b.size(); ++j) {
      std::size_t least = std::min({last[j] + (a[i] == b[j] ? 0 : 1), last[j + 1] + 1, row[j] + 1});
      const bool exchanged = i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j];
      if (exchanged) least = std::min(least, before[j - 1] + 1);
      row.push_back(least);
    }
    before = std::exchange(last, std::move(row));
  }
  return last.back();
}

Error unknown(std::span<const Option> table, std::string_view word) {
  std::string message = "unknown option " + quoted(word);
  std::string_view best;
  std::size_t best_distance = word.size() / 2 + 1;
  for (const Option& option : table) {
    const std::size_t d = distance(word, option.name);
    if (d < best_distance) best = option.name, best_distance = d;
  }
  if (!best.empty()) message += "; did you mean " + std::string(best) + "?";
  return invalid(std::move(message));
}

template <typename Matches>
const Option* find(std::span<const Option> table, Matches&& matches) {
  const auto found = std::find_if(table.begin(), table.end(), matches);
  return found == table.end() ? nullptr : &*found;
}

// "--name=VALUE" or "-oVALUE": the option, and the value if one is attached.
struct Word {
  const Option* option;
  std::optional<std::string_view> value;
};

Result<Word> split(std::span<const Option> table, std::string_view word) {
  if (word.starts_with("--")) {
    const std::size_t equals = word.find('=');
    const std::string_view name = word.substr(0, equals);
    const Option* option = find(table, [&](const Option& row) { return row.name == name; });
    if (option == nullptr) return unknown(table, name);
    if (equals == word.npos) return Word{option, {}};
    if (option->value == Value::kNone) return invalid("option " + std::string(name) + " takes no value");
    return Word{option, word.substr(equals + 1)};
  }
  const Option* option = find(table, [&](const Option& row) { return row.letter == word[1]; });
  if (option == nullptr) return unknown(table, word);
  if (word.size() == 2) return Word{option, {}};
  if (option->value == Value::kNone) return unknown(table, word);
  return Word{option, word.substr(2)};
}

// Splits a text into the number at its beginning and the unit after it.
template <typename T>
bool split_unit(std::string_view text, T& number, std::string_view& unit) {
  const char* const end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data(), end, number);
  if (problem != std::errc() || text.front() == '-') return false;
  unit = std::string_view(stop, static_cast<std::size_t>(end - stop));
  return true;
}

constexpr std::size_t kHelpColumn = 28;

std::string left_side(const Option& option) {
  std::string text = option.letter != 0 ? std::string("  -") + option.letter + ", " : "  ";
  text += option.name;
  if (option.value == Value::kRequired) text += "=" + std::string(option.placeholder);
  if (option.value == Value::kOptional) text += "[=" + std::string(option.placeholder) + "]";
  return text;
}

}  // namespace

const std::string* Arguments::last(std::string_view name) const {
  const auto found = std::find_if(options.rbegin(), options.rend(),
                                  [&](const Given& given) { return given.option->name == name; });
  return found == options.rend() ? nullptr : &found->value;
}

Result<Arguments> parse_arguments(std::span<const Option> table, std::span<const char* const> words,
                                  Operands operands) {
  Arguments arguments;
  bool options_ended = false;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words[i];
    if (options_ended || word.size() < 2 || word[0] != '-') {
      arguments.operands.emplace_back(word);
      options_ended = options_ended || operands == Operands::kEndOptions;
      continue;
    }
    if (word == "--") {
      options_ended = true;
      continue;
    }
    DHPVM_ASSIGN(Word given, split(table, word));
    if (given.option->value == Value::kRequired && !given.value) {
      if (i + 1 == words.size()) {
        return invalid("option " + std::string(given.option->name) +
                       " needs a value: " + left_side(*given.option).substr(2));
      }
      given.value = words[++i];
    }
    if (given.option->placeholder == "FILE" && given.value && given.value->empty()) {
      return invalid("option " + std::string(given.option->name) +
                     " needs a file: " + left_side(*given.option).substr(2));
    }
    arguments.options.push_back({given.option, std::string(given.value.value_or(""))});
  }
  return arguments;
}

std::string help_text(std::string_view usage, std::span<const Option> table, std::string_view closing) {
  std::string text(usage);
  std::string_view group;
  for (const Option& option : table) {
    if (option.help.empty()) continue;
    if (option.group != group) text += "\n" + std::string(group = option.group) + ":\n";
    std::string line = left_side(option);
    std::string_view help = option.help;
    // If the left side is long, it gets a line of its own.
    if (line.size() + 2 > kHelpColumn) text += std::exchange(line, std::string()) + "\n";
    while (!help.empty()) {
      const std::size_t end = std::min(help.find('\n'), help.size());
      line.resize(kHelpColumn, ' ');
      text += line.append(help.substr(0, end)) + "\n";
      line.clear();
      help.remove_prefix(std::min(end + 1, help.size()));
    }
  }
  return text.append(closing);
}

Result<std::uint64_t> parse_size(std::string_view text) {
  const Error problem =
      invalid(quoted(text) + " is not a size: write a number of bytes, or one with K, M, G or T, like 64M");
  std::uint64_t number = 0;
  std::string_view unit;
  if (!split_unit(text, number, unit)) return problem;
  unsigned shift = 0;
  if (!unit.empty() && unit != "B") {
    const std::size_t power = std::string_view("KMGT").find(static_cast<char>(unit[0] & ~0x20));
    const std::string_view rest = unit.substr(1);
    if (power == std::string_view::npos || (!rest.empty() && rest != "B" && rest != "iB")) return problem;
    shift = 10 * (static_cast<unsigned>(power) + 1);
  }
  if (number > (UINT64_MAX >> shift)) return invalid(quoted(text) + " is larger than any memory");
  return number << shift;
}

Result<std::chrono::nanoseconds> parse_duration(std::string_view text) {
  constexpr struct {
    std::string_view name;
    double nanoseconds;
  } kUnits[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"m", 60e9}, {"h", 3600e9}};
  double number = 0;
  std::string_view unit;
  if (split_unit(text, number, unit)) {
    for (const auto& row : kUnits) {
      // At most a century, far below what the clock can count.
      if (row.name == unit && number >= 0 && number * row.nanoseconds < 3.2e18) {
        return std::chrono::nanoseconds(static_cast<std::int64_t>(number * row.nanoseconds));
      }
    }
  }
  return invalid(quoted(text) + " is not a duration: write a number with ns, us, ms, s, m or h, like 2s");
}

Result<std::uint64_t> parse_count(std::string_view text) {
  std::string digits(text);
  std::erase(digits, '_');
  std::uint64_t number = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stop, problem] = std::from_chars(digits.data(), end, number);
  if (problem != std::errc() || stop != end) return invalid(quoted(text) + " is not a number of 0 or more");
  return number;
}

Result<double> parse_factor(std::string_view text) {
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data(), end, number);
  if (problem != std::errc() || stop != end || !(number > 0) || number > 1e9) {
    return invalid(quoted(text) + " is not a factor: write a number above 0, like 2.5");
  }
  return number;
}

Status print(std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(STDOUT_FILENO, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0)
      return Error(ErrorCode::kIo, std::string("cannot write to standard output: ") + std::strerror(errno));
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return {};
}

Status write_file(const std::string& path, std::string_view text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) return Error(ErrorCode::kIo, "cannot write " + path + ": check the folder and the space left");
  return {};
}

}  // namespace dhpvm::tools
