// SPDX-License-Identifier: Apache-2.0
// Finds, reads and parses the modules that a program imports.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/parse/ast.h"
#include "compiler/text/builtin_module.h"
#include "compiler/text/diagnostics.h"
#include "compiler/text/source.h"
#include "dhpvm/result.h"

namespace dhpvm::compiler {

// The modules whose types are known everywhere without import; `map` is loaded if a file names its types or has a map
// literal. The functions of all but the first are known, too, qualified by the module's name.
inline constexpr std::string_view kKnownModules[] = {"errors", "array", "list", "map", "str"};
bool is_known_module(std::string_view name);

struct ImportOptions {
  // The modules of the standard library. They take precedence: a file list.dhp next to a program must not change what
  // `import list;` means to it, nor to the library's own modules.
  std::span<const BuiltinModule> builtin_modules;
  // Folders to search after the folder of the importing file. The root file has no folder of its own: a caller that
  // knows it puts it first here.
  std::vector<std::string> import_paths;
  // Reads a path; empty reads files. After kNotFound the next folder is tried.
  std::function<Result<std::string>(const std::string& path)> read;
};

// Parses the root file and everything that it imports, each module once; cyclic imports are allowed. A module that
// cannot be found, read or parsed is reported, and leaves Import::module null. `sources` is the manager of
// `diagnostics`, and must outlive the result.
ast::Program load_program(SourceManager& sources, std::string file_name, std::string text,
                          const ImportOptions& options, Diagnostics& diagnostics);

}  // namespace dhpvm::compiler
