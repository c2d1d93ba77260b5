// SPDX-License-Identifier: Apache-2.0
#include "open.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace dhpvm::tools {

Result<Module> open_program(const Engine& engine, const std::string& path, CompileOptions options) {
  std::string warnings;
  options.warnings = &warnings;
  options.colour = ::isatty(STDERR_FILENO) == 1 && std::getenv("NO_COLOR") == nullptr;
  Result<Module> module = Module::open(engine, path, std::move(options));
  if (!warnings.empty()) {
    std::fputs(warnings.c_str(), stderr);
    if (!warnings.ends_with('\n')) std::fputc('\n', stderr);
  }
  return module;
}

}  // namespace dhpvm::tools
