// SPDX-License-Identifier: Apache-2.0
// The command line of the tools: one table of options defines the parser and --help.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dhpvm/result.h"

namespace dhpvm::tools {

enum class Value : std::uint8_t {
  kNone,      // --strip
  kRequired,  // --trace=FILE or --trace FILE
  kOptional,  // --stats or --stats=json
};

struct Option {
  std::string_view group;  // heading in --help; rows of one group are adjacent
  std::string_view name;   // "--trace"
  char letter;             // 'o' for -o, or 0
  Value value;
  std::string_view placeholder;  // "FILE"
  std::string_view help;         // lines are divided by \n; empty: not for people, and not listed
};

struct Arguments {
  struct Given {
    const Option* option;
    std::string value;
  };
  std::vector<Given> options;  // in order, so that the last one wins
  std::vector<std::string> operands;

  bool has(std::string_view name) const { return last(name) != nullptr; }
  // The value of the last occurrence; null if there is none.
  const std::string* last(std::string_view name) const;
};

enum class Operands : std::uint8_t {
  kAnywhere,
  kEndOptions,  // everything after the first operand belongs to the program that it names
};

// Splits the command line (without the program's own name). "--" ends the options; "-" is an operand.
// kInvalidArgument for an unknown option, with the nearest one, and for a missing or superfluous value.
Result<Arguments> parse_arguments(std::span<const Option> table, std::span<const char* const> words,
                                  Operands operands);

// Usage, all options by group, and the closing text.
std::string help_text(std::string_view usage, std::span<const Option> table, std::string_view closing);

// "64M": bytes, with K, M, G or T for powers of 1024, and an optional B or iB. kInvalidArgument.
Result<std::uint64_t> parse_size(std::string_view text);
// "1.5s": with ns, us, ms, s, m or h. kInvalidArgument.
Result<std::chrono::nanoseconds> parse_duration(std::string_view text);
// A number without a sign; underscores are ignored. kInvalidArgument.
Result<std::uint64_t> parse_count(std::string_view text);
// "2.5": more than 0. kInvalidArgument.
Result<double> parse_factor(std::string_view text);

// Writes to standard output. kIo.
Status print(std::string_view text);
// Writes a report into a file, which is replaced. kIo.
Status write_file(const std::string& path, std::string_view text);

}  // namespace dhpvm::tools
