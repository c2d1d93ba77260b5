// SPDX-License-Identifier: Apache-2.0
// The entry point of the compiler: source text in, bytecode module out.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bytecode/module.h"
#include "compiler/text/builtin_module.h"
#include "dhpvm/result.h"

namespace dhpvm::compiler {

struct CompileOptions {
  // The name of the source in diagnostics and in the module's line table.
  std::string file_name = "program.dhp";
  // Folders in which `import name;` looks for name.dhp, in this order, after the standard library and the
  // folder of the importing file.
  std::vector<std::string> import_paths;
  // Reads the path of an import; empty reads files. After kNotFound the next folder is tried.
  std::function<Result<std::string>(const std::string& path)> read;
  // The standard library: stdlib::modules(). Must outlive the call.
  std::span<const BuiltinModule> builtin_modules;
  // Colours the diagnostics with ANSI escapes, for a terminal.
  bool colour = false;
  // The line table covers every instruction, to count executions of each line. The code is slower.
  bool all_lines = false;
  // The module exports constructors and methods of the classes of the source, for hosts that make objects: see
  // check/host_objects.h. It is larger.
  bool host_objects = false;
  // Receives the warnings of a program that compiles, rendered like errors; null drops them.
  std::string* warnings = nullptr;
};

// The module of `source` and everything it imports. kCompile: the program is wrong, and the message is the
// rendered diagnostics, several lines without a final line end. kUnsupported: beyond the limits of the module
// format. Thread-safe: calls share nothing.
Result<bytecode::Module> compile(std::string_view source, const CompileOptions& options);

}  // namespace dhpvm::compiler
