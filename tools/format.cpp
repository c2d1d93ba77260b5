// SPDX-License-Identifier: Apache-2.0
#include "format.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "dhpvm/module.h"
#include "options.h"

namespace dhpvm::tools {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTool = "dhpvmc fmt";

constexpr std::string_view kUsage =
    "usage: dhpvmc fmt [options] FILE...\n"
    "\n"
    "Brings sources (.dhp) into the style of the language, in place; a folder stands for all that are in it. "
    "If FILE is -,\n"
    "formats standard input and prints the result. A file with syntax errors is left as it is.\n";

constexpr Option kOptions[] = {
    {"Options", "--check", 0, Value::kNone, "", "write nothing, and name the files that would change"},
    {"Options", "--help", 'h', Value::kNone, "", "print this text"},
};

constexpr std::string_view kClosing =
    "\n"
    "The exit code is 0, 1 if --check has named a file, 2 if a source or the command line is wrong.\n";

bool wants_colour() { return ::isatty(STDERR_FILENO) == 1 && std::getenv("NO_COLOR") == nullptr; }

Status format_standard_input(bool check, bool& differs) {
  const std::string source{std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>()};
  CompileOptions options;
  options.file_name = "<stdin>";
  options.colour = wants_colour();
  DHPVM_ASSIGN(const std::string formatted, format_source(source, options));
  differs = differs || formatted != source;
  return check ? Status() : print(formatted);
}

Status format_one(const std::string& path, bool check, bool& differs) {
  if (path == "-") return format_standard_input(check, differs);
  DHPVM_ASSIGN(const bool changed,
               format_file(path, check ? FormatMode::kCheck : FormatMode::kWrite, wants_colour()));
  if (!changed) return {};
  differs = true;
  return check ? print(path + "\n") : Status();
}

// The files that an operand stands for, sorted by name.
Result<std::vector<std::string>> files_of(const std::string& operand) {
  std::error_code problem;
  if (operand == "-" || !fs::is_directory(operand, problem)) return std::vector{operand};
  std::vector<std::string> files;
  for (fs::recursive_directory_iterator entry(operand, problem), end; !problem && entry != end;
       entry.increment(problem)) {
    if (entry->path().extension() == ".dhp" && entry->is_regular_file(problem))
      files.push_back(entry->path().string());
  }
  if (problem) return Error(ErrorCode::kIo, "cannot read the folder '" + operand + "': " + problem.message());
  std::ranges::sort(files);
  return files;
}

}  // namespace

Ending format_command(std::span<const char* const> words) {
  const Result<Arguments> arguments = parse_arguments(kOptions, words, Operands::kAnywhere);
  if (!arguments.ok()) return usage_ending(kTool, arguments.error());
  if (arguments->has("--help")) {
    const Status printed = print(help_text(kUsage, kOptions, kClosing));
    return printed.ok() ? Ending{} : ending_of(kTool, printed.error());
  }
  if (arguments->operands.empty()) {
    return usage_ending(kTool,
                        Error(ErrorCode::kInvalidArgument, "no source given: write dhpvmc fmt FILE.dhp"));
  }
  const bool check = arguments->has("--check");
  bool differs = false;
  Ending worst;
  // An error in one file does not prevent the others from being formatted.
  const auto note = [&](const Error& error) {
    if (const Ending ending = ending_of(kTool, error); worst.code == 0 && worst.signal == 0) worst = ending;
  };
  for (const std::string& operand : arguments->operands) {
    const Result<std::vector<std::string>> files = files_of(operand);
    if (!files.ok()) {
      note(files.error());
      continue;
    }
    for (const std::string& file : *files) {
      if (const Status status = format_one(file, check, differs); !status.ok()) note(status.error());
    }
  }
  if (worst.code == 0 && worst.signal == 0 && check && differs) worst.code = 1;
  return worst;
}

}  // namespace dhpvm::tools
