// SPDX-License-Identifier: Apache-2.0
#include "open.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace dhpvm::tools {

void print_log(LogKind kind, std::string_view text) {
  // A single call, so that lines of several threads do not mix.
  std::fprintf(stderr, "%s%.*s\n", kind == LogKind::kWarning ? "dhpvm: " : "", static_cast<int>(text.size()),
               text.data());
}

Result<Module> open_program(const Engine& engine, const std::string& path, CompileOptions options,
                            WarningPolicy policy) {
  const bool terminal = ::isatty(STDERR_FILENO) == 1;
  std::string warnings;
  if (terminal || policy != WarningPolicy::kTerminal) options.warnings = &warnings;
  options.colour = terminal && std::getenv("NO_COLOR") == nullptr;
  Result<Module> module = Module::open(engine, path, std::move(options));
  if (warnings.empty()) return module;
  std::fputs(warnings.c_str(), stderr);
  if (!warnings.ends_with('\n')) std::fputc('\n', stderr);
  if (policy != WarningPolicy::kFail) return module;
  return Error(ErrorCode::kCompile, path + ": with --werror, warnings are errors");
}

}  // namespace dhpvm::tools
