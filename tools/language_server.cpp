// SPDX-License-Identifier: Apache-2.0
#include "language_server.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "dhpvm/engine.h"
#include "dhpvm/language.h"
#include "options.h"

namespace dhpvm::tools {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTool = "dhpvmc lsp";

constexpr std::string_view kUsage =
    "usage: dhpvmc lsp [options]\n"
    "\n"
    "Serves the language server protocol on standard input and output: editors start it, and ask it about "
    "programs. "
    "It runs\n"
    "none. docs/editors.md says how editors are told.\n";

constexpr Option kOptions[] = {
    {"Options", "--import-path", 'I', Value::kRequired, "DIR",
     "look for imported modules there; may be repeated"},
    {"Options", "--stdio", 0, Value::kNone, "", ""},  // many editors add it; there is no other way
    {"Options", "--help", 'h', Value::kNone, "", "print this text"},
};

constexpr std::string_view kClosing =
    "\n"
    "The exit code is 0 after a session that was shut down as the protocol has it, 1 if the editor went "
    "away, 2 if the\n"
    "command line is wrong.\n";

// The folder for the sources of this version's library; empty if there is none.
std::string library_folder() {
  const char* const given = std::getenv("XDG_CACHE_HOME");
  const char* const home = std::getenv("HOME");
  fs::path cache;
  if (given != nullptr && fs::path(given).is_absolute()) {
    cache = given;
  } else if (home != nullptr && fs::path(home).is_absolute()) {
    cache = fs::path(home) / ".cache";
  } else {
    return {};
  }
  return (cache / "dhpvm" / ("library-" + std::string(library_version()))).lexically_normal().string();
}

}  // namespace

Ending language_server_command(std::span<const char* const> words) {
  const Result<Arguments> arguments = parse_arguments(kOptions, words, Operands::kAnywhere);
  if (!arguments.ok()) return usage_ending(kTool, arguments.error());
  if (arguments->has("--help")) {
    const Status printed = print(help_text(kUsage, kOptions, kClosing));
    return printed.ok() ? Ending{} : ending_of(kTool, printed.error());
  }
  if (!arguments->operands.empty()) {
    return usage_ending(kTool,
                        Error(ErrorCode::kInvalidArgument,
                              "'" + arguments->operands[0] + "' is not needed: the editor names the files"));
  }
  LanguageServerOptions options;
  for (const Arguments::Given& given : arguments->options) {
    if (given.option->name == "--import-path") options.import_paths.push_back(given.value);
  }
  options.library_folder = library_folder();
  const Result<bool> ended = serve_language(STDIN_FILENO, STDOUT_FILENO, options);
  if (!ended.ok()) return ending_of(kTool, ended.error());
  Ending ending;
  ending.code = *ended ? 0 : 1;
  return ending;
}

}  // namespace dhpvm::tools
