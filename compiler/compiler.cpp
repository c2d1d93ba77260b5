// SPDX-License-Identifier: Apache-2.0
#include "compiler/compiler.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "compiler/checker.h"
#include "compiler/diagnostics.h"
#include "compiler/imports.h"
#include "compiler/lowering.h"
#include "compiler/source.h"

namespace dhpvm::compiler {
namespace {

Error wrong_program(const Diagnostics& diagnostics, const CompileOptions& options) {
  std::string text = diagnostics.render(options.colour);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return Error(ErrorCode::kCompile, std::move(text));
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
  // Where syntax errors have swallowed declarations, the checker would complain of their absence. Mistakes
  // inside function bodies leave nodes that it passes over in silence, so that its own findings come in the
  // same run.
  const auto complete = [](const auto& module) { return module->is_complete; };
  if (!std::all_of(program.modules.begin(), program.modules.end(), complete)) {
    return wrong_program(diagnostics, options);
  }
  const std::unique_ptr<hir::Program> checked = check(program, diagnostics);
  if (diagnostics.has_errors()) return wrong_program(diagnostics, options);
  if (checked == nullptr) {
    return error(ErrorCode::kInternal, "the checker refused {} without a reason", options.file_name);
  }
  if (options.warnings != nullptr) *options.warnings = diagnostics.render(options.colour);
  return lower(*checked);
}

Result<bytecode::Module> compile_file(const std::string& path, CompileOptions options) {
  DHPVM_ASSIGN(const std::string source, read_text_file(path));
  options.file_name = path == "-" ? "<stdin>" : path;
  const std::filesystem::path folder =
      path == "-" ? std::filesystem::path() : std::filesystem::path(path).parent_path();
  options.import_paths.insert(options.import_paths.begin(), folder.empty() ? "." : folder.string());
  return compile(source, options);
}

}  // namespace dhpvm::compiler
