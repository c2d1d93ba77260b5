// SPDX-License-Identifier: Apache-2.0
// A program that was compiled or loaded, and verified, so that it can be run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dhpvm/engine.h"
#include "dhpvm/export.h"
#include "dhpvm/result.h"
#include "dhpvm/version.h"

namespace dhpvm::inline DHPVM_CPP_NAMESPACE {

// The prefix of the names of tests.
inline constexpr std::string_view kTestPrefix = "test_";

struct CompileOptions {
  // The name of the source in messages and stack traces.
  std::string file_name = "program.dhp";
  // Folders in which `import name;` looks for name.dhp, in this order, after the standard library and the
  // folder of the importing file.
  std::vector<std::string> import_paths = {};
  // Reads an imported source by its path; empty reads files. kNotFound makes the search go on with the next folder.
  std::function<Result<std::string>(const std::string& path)> read = {};
  // Diagnostics with ANSI colours, for a terminal.
  bool colour = false;
  // The module knows the line of each instruction, for IsolateOptions::count_lines, and its code is slower. Without it,
  // the module knows only the lines of instructions that can trap, call a function, or end a turn of a loop.
  bool all_lines = false;
  // The module exports what a host needs to make objects of the program and to use them, for each class of the source,
  // and for each class, List, Map and Set in the types of its fields and functions: the methods, "Node.area", and a
  // constructor, "new Node" (Isolate::make calls it), which takes all that `Node(...)` takes. The module is larger.
  bool host_objects = false;
  // Receives the warnings of a program that compiles, as diagnostics. Not owned; null drops them.
  std::string* warnings = nullptr;
};

// A handle: copies refer to the same module, which never changes and is shared by any number of isolates on
// any threads. Thread-safe. Keeps its engine alive.
class DHPVM_API Module {
 public:
  // Source text to module. kCompile: the message holds all diagnostics, several lines with source
  // excerpts and remedies.
  static Result<Module> compile(const Engine& engine, std::string_view source,
                                const CompileOptions& options = {});

  // The bytes of a .bc file, from any origin: they are checked completely before anything runs, and a module
  // that passes cannot touch memory outside its isolate. kMalformed, kUnverified or kUnsupported, in one
  // line. Does not keep `bytes`.
  static Result<Module> load(const Engine& engine, std::span<const std::byte> bytes);

  // The text form that disassemble() writes. kCompile with file and line for text that does not assemble.
  static Result<Module> assemble(const Engine& engine, std::string_view text,
                                 std::string_view file_name = "program.dasm");

  // A file: bytecode, known by its content, or text (.dasm is assembled, anything else compiled, under the name
  // `path`). "-" is standard input, of either kind. kNotFound, kIo, and the errors of the functions above.
  static Result<Module> open(const Engine& engine, const std::string& path, CompileOptions options = {});

  // The module as the content of a .bc file. `strip` leaves out names and source lines, as far as running
  // allows: stack traces then say less, exports keep their names.
  std::vector<std::byte> bytes(bool strip = false) const;
  // Writes the same into a file, which is replaced atomically: on failure (a full disk, say) an existing file is
  // unchanged, and nothing half-written is left. kIo with the system's reason.
  Status save(const std::string& path, bool strip = false) const;
  // Writes the text of disassemble() into a file, in the same way.
  Status save_text(const std::string& path) const;
  // The module as text that assemble() reads back to the same module.
  std::string disassemble() const;

  // Whether it has a main function, for Isolate::run_main.
  bool has_main() const;
  // The functions that a host can call, with their signatures as the language writes them: "dot([f64],
  // [f64]) -> f64".
  std::vector<std::string> exports() const;

  // The functions that are tests, in the order of the source: those whose names begin with kTestPrefix, that take
  // nothing, and give nothing or `void!`.
  std::vector<std::string> tests() const;

  // For the library's own use.
  const std::shared_ptr<detail::ModuleState>& state() const { return state_; }

 private:
  explicit Module(std::shared_ptr<detail::ModuleState> state) : state_(std::move(state)) {}
  std::shared_ptr<detail::ModuleState> state_;
};

// Formats the source of a program or module in the one style of the language: tokens and comments stay, blanks and line
// ends change. Formatting the result again changes nothing. Imports are not read; `options` counts only for `file_name`
// and `colour`. kCompile: there are syntax errors. Thread-safe.
DHPVM_API Result<std::string> format_source(std::string_view source, const CompileOptions& options = {});
// Whether the file at `path` differs from its formatted text. With kWrite such a file is replaced in one step: failures
// leave it unchanged. kCompile, kNotFound, kIo.
enum class FormatMode : std::uint8_t { kCheck, kWrite };
DHPVM_API Result<bool> format_file(const std::string& path, FormatMode mode, bool colour = false);

}  // namespace dhpvm::inline DHPVM_CPP_NAMESPACE
