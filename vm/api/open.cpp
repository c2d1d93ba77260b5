// SPDX-License-Identifier: Apache-2.0
// Opens modules from files, by their kind.
#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "bytecode/format.h"
#include "vm/api/state.h"

namespace dhpvm {
namespace {

bool is_bytecode(const std::string& path, std::string_view content) {
  // A damaged .bc must be refused as bytecode, and not be compiled as source text.
  return path.ends_with(".bc") || content.starts_with(bytecode::kMagic);
}

}  // namespace

Result<Module> Module::open(const Engine& engine, const std::string& path, CompileOptions options) {
  DHPVM_ASSIGN(const std::string content, read_text_file(path));
  const bool standard_input = path == "-";
  options.file_name = standard_input ? "<stdin>" : path;
  if (is_bytecode(path, content)) {
    Result<Module> module = load(engine, std::as_bytes(std::span(content)));
    if (module.ok()) return module;
    return error(module.error().code(), "'{}': {}", options.file_name, module.error().message());
  }
  if (path.ends_with(".dasm")) return assemble(engine, content, path);
  // Imports are searched next to the program first; a program without a folder is in the current one.
  std::filesystem::path folder = standard_input ? "" : std::filesystem::path(path).parent_path();
  if (folder.empty()) folder = ".";
  options.import_paths.insert(options.import_paths.begin(), folder.string());
  return compile(engine, content, options);
}

}  // namespace dhpvm
