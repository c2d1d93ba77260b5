// SPDX-License-Identifier: Apache-2.0
// libFuzzer target: any bytes as source text, through the lexer and parser. Must not crash, hang, or use
// memory out of proportion to the input; whatever is refused must be refused with a diagnostic.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "compiler/ast_dump.h"
#include "compiler/diagnostics.h"
#include "compiler/imports.h"

using namespace dhpvm;
using namespace dhpvm::compiler;

namespace {

bool is_empty(const ast::Module& module) {
  return module.imports.empty() && module.constants.empty() && module.types.empty() &&
         module.functions.empty();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  SourceManager sources;
  Diagnostics diagnostics(sources);
  ImportOptions options;
  options.import_paths = {"."};
  // Every module exists and is empty, so that imports are followed without touching the file system.
  options.read = [](const std::string&) -> Result<std::string> { return std::string(); };
  const std::string text(data, data + size);
  const ast::Program program = load_program(sources, "fuzz.dhp", text, options, diagnostics);
  const std::string rendered = diagnostics.render();
  if (diagnostics.has_errors() == rendered.empty()) std::abort();
  // Visits every node, also of trees that hold mistakes: no child may be missing where ast.h promises one.
  for (const auto& module : program.modules) {
    if (module == nullptr || dump(*module).empty() != is_empty(*module)) std::abort();
  }
  return 0;
}
