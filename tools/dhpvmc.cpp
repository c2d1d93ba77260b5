// SPDX-License-Identifier: Apache-2.0
// dhpvmc: compiles a program to bytecode.
#include <filesystem>

#include "dhpvm/dhpvm.h"
#include "ending.h"
#include "format.h"
#include "language_server.h"
#include "open.h"
#include "options.h"

namespace dhpvm::tools {
namespace {

constexpr std::string_view kTool = "dhpvmc";

constexpr std::string_view kUsage =
    "usage: dhpvmc [options] SOURCE\n"
    "       dhpvmc fmt [options] FILE...   (dhpvmc fmt --help)\n"
    "       dhpvmc lsp [options]           (dhpvmc lsp --help)\n"
    "\n"
    "Compiles SOURCE, a program (.dhp) or assembly (.dasm), to a file of the same name with the suffix .bc.\n"
    "If SOURCE is -, reads a program from standard input.\n";

constexpr Option kOptions[] = {
    {"Output", "--output", 'o', Value::kRequired, "FILE", "write there instead; - is standard output"},
    {"Output", "--emit", 0, Value::kRequired, "bc|dasm", "bytecode (default), or its text form"},
    {"Output", "--strip", 0, Value::kNone, "",
     "leave out names and source lines: smaller, but stack traces say less"},
    {"Output", "--all-lines", 0, Value::kNone, "",
     "record the line of every instruction, for dhpvm-run --test --coverage"},
    {"Output", "--host-objects", 0, Value::kNone, "",
     "export constructors and methods of classes, for applications that make objects"},
    {"Output", "--check", 0, Value::kNone, "", "report errors and warnings, and write nothing"},
    {"Output", "--werror", 0, Value::kNone, "", "treat warnings as errors"},
    {"Input", "--import-path", 'I', Value::kRequired, "DIR",
     "look for imported modules there; may be repeated"},
    {"Other", "--version", 0, Value::kNone, "", "print the version"},
    {"Other", "--help", 'h', Value::kNone, "", "print this text"},
};

constexpr std::string_view kClosing =
    "\n"
    "The exit code is 0, 2 if the program or the command line is wrong, 70 after an internal error. Nothing "
    "half-written\n"
    "is left behind: FILE is replaced when everything else has succeeded.\n";

Result<std::string> output_of(const Arguments& arguments, const std::string& source,
                              std::string_view suffix) {
  if (const std::string* const given = arguments.last("--output")) return *given;
  if (source == "-")
    return Error(ErrorCode::kInvalidArgument,
                 "standard input has no name to derive the output's from: use -o FILE");
  std::string path = std::filesystem::path(source).replace_extension(suffix).string();
  if (path == source)
    return Error(ErrorCode::kInvalidArgument, "the output would replace '" + source + "': use -o FILE");
  return path;
}

Status compile(const Arguments& arguments) {
  const std::string& source = arguments.operands[0];
  const std::string* const emit = arguments.last("--emit");
  const bool as_text = emit != nullptr && *emit == "dasm";
  // Checked first, so that a mistake in the command line is not hidden by mistakes in the program.
  std::string output;
  if (!arguments.has("--check")) {
    DHPVM_ASSIGN(output, output_of(arguments, source, as_text ? ".dasm" : ".bc"));
  }

  CompileOptions options;
  options.all_lines = arguments.has("--all-lines");
  options.host_objects = arguments.has("--host-objects");
  for (const Arguments::Given& given : arguments.options) {
    if (given.option->name == "--import-path") options.import_paths.push_back(given.value);
  }
  const Engine engine({.log = print_log});
  const WarningPolicy policy = arguments.has("--werror") ? WarningPolicy::kFail : WarningPolicy::kPrint;
  DHPVM_ASSIGN(Module module, open_program(engine, source, options, policy));
  if (arguments.has("--check")) return {};
  const bool strip = arguments.has("--strip");
  if (as_text && strip) {
    DHPVM_ASSIGN(module, Module::load(engine, module.bytes(true)));
  }
  if (output != "-") return as_text ? module.save_text(output) : module.save(output, strip);
  if (as_text) return print(module.disassemble());
  const std::vector<std::byte> bytes = module.bytes(strip);
  return print(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

Ending main_of(std::span<const char* const> words) {
  if (!words.empty() && std::string_view(words[0]) == "fmt") return format_command(words.subspan(1));
  if (!words.empty() && std::string_view(words[0]) == "lsp") return language_server_command(words.subspan(1));
  const Result<Arguments> arguments = parse_arguments(kOptions, words, Operands::kAnywhere);
  if (!arguments.ok()) return usage_ending(kTool, arguments.error());
  std::string text;
  if (arguments->has("--help")) text = help_text(kUsage, kOptions, kClosing);
  if (arguments->has("--version")) text = "dhpvmc " + std::string(library_version()) + "\n";
  if (!text.empty()) {
    const Status printed = print(text);
    return printed.ok() ? Ending{} : ending_of(kTool, printed.error());
  }
  if (arguments->operands.size() != 1) {
    return usage_ending(kTool,
                        Error(ErrorCode::kInvalidArgument,
                              arguments->operands.empty()
                                  ? "no source given: write dhpvmc PROGRAM.dhp"
                                  : "more than one source given: modules that a program imports are found by "
                                    "themselves, so name the one with main alone"));
  }
  if (const std::string* const emit = arguments->last("--emit");
      emit != nullptr && *emit != "bc" && *emit != "dasm") {
    return usage_ending(
        kTool, Error(ErrorCode::kInvalidArgument, "--emit=" + *emit + " is not known: it is bc or dasm"));
  }
  const Status status = compile(*arguments);
  return status.ok() ? Ending{} : ending_of(kTool, status.error());
}

}  // namespace
}  // namespace dhpvm::tools

int main(int count, char** words) {
  return dhpvm::tools::end_process(
      dhpvm::tools::main_of(std::span<const char* const>(words, static_cast<std::size_t>(count)).subspan(1)));
}
