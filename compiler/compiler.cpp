// SPDX-License-Identifier: Apache-2.0
#include "compiler/compiler.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/error.h"
#include "compiler/check/checker.h"
#include "compiler/check/warnings.h"
#include "compiler/lower/lowering.h"
#include "compiler/parse/imports.h"
#include "compiler/text/diagnostics.h"
#include "compiler/text/source.h"

namespace dhpvm::compiler {
namespace {

Error wrong_program(const Diagnostics& diagnostics, const CompileOptions& options) {
  std::string text = diagnostics.render(options.colour);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return Error(ErrorCode::kCompile, std::move(text));
}

// Whether the module and its imports have all their declarations.
bool has_all_declarations(const std::unique_ptr<ast::Module>& module) {
  const auto found = [](const ast::Import& import) { return import.module != nullptr; };
  return module->is_complete && std::all_of(module->imports.begin(), module->imports.end(), found);
}

}  // namespace

Result<bytecode::Module> compile(std::string_view source, const CompileOptions& options) {
  if (source.size() >= SourceManager::kMaxFileBytes) {
    return error(ErrorCode::kCompile, "{}: error: the file has {} bytes; at most {} are allowed",
                 options.file_name, source.size(), SourceManager::kMaxFileBytes - 1);
  }
  SourceManager sources;
  Diagnostics diagnostics(sources);
  const ImportOptions imports{options.builtin_modules, options.import_paths, options.read};
  const ast::Program program =
      load_program(sources, options.file_name, std::string(source), imports, diagnostics);
  // If declarations are missing, the checker would report each use. Errors inside function bodies leave nodes that it
  // ignores, so that its own errors are reported in the same run.
  if (!std::all_of(program.modules.begin(), program.modules.end(), has_all_declarations)) {
    return wrong_program(diagnostics, options);
  }
  const std::unique_ptr<hir::Program> checked =
      check(program, diagnostics, options.host_objects ? HostReach::kObjects : HostReach::kFunctions);
  if (diagnostics.has_errors()) return wrong_program(diagnostics, options);
  if (checked == nullptr) {
    return error(ErrorCode::kInternal, "the checker refused {} without a reason", options.file_name);
  }
  warn(program, diagnostics);
  if (options.warnings != nullptr) *options.warnings = diagnostics.render(options.colour);
  return lower(*checked, options.all_lines ? LinesOf::kInstructions : LinesOf::kStops);
}

}  // namespace dhpvm::compiler
