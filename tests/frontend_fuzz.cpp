// SPDX-License-Identifier: Apache-2.0
// libFuzzer target: any bytes as a program, through the whole compiler with the real standard library. Must
// not crash, hang, or use memory out of proportion to the input. A refused program gets a
// diagnostic, an accepted one passes the verifier. It stands here and not in the compiler's room because
// that room cannot name the library.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/error.h"
#include "bytecode/verifier.h"
#include "compiler/compiler.h"
#include "compiler/parse/ast_dump.h"
#include "compiler/parse/parser.h"
#include "compiler/text/diagnostics.h"
#include "stdlib/modules.h"

namespace dhpvm {
namespace {

void insist(bool condition, const std::string& what) {
  if (condition) return;
  std::fprintf(stderr, "frontend_fuzz: %s\n", what.c_str());
  std::abort();
}

// Visits every node, also of trees that hold mistakes: no child may be missing where ast.h promises one.
void check_tree(std::string_view text) {
  compiler::SourceManager sources;
  compiler::Diagnostics diagnostics(sources);
  const auto file = sources.add("fuzz.dhp", std::string(text));
  const auto module = compiler::parse(sources, file, {}, diagnostics);
  const std::string tree = compiler::dump(*module);
  insist(diagnostics.has_errors() != diagnostics.render().empty(),
         "errors without words, or words without errors");
  insist(diagnostics.has_errors() || module->is_complete, "something was lost without an error");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_tree(text);

  compiler::CompileOptions options;
  options.builtin_modules = stdlib::modules();
  // One other module exists, and imports its importer: no file is ever touched.
  options.import_paths = {"."};
  options.read = [](const std::string& path) -> Result<std::string> {
    if (path == "other.dhp") return std::string("import other; fn f() -> i64 => 1; class C { x: i64; }");
    return error(ErrorCode::kNotFound, "no file");
  };
  const Result<bytecode::Module> module = compiler::compile(text, options);
  if (!module.ok()) {
    const ErrorCode code = module.error().code();
    insist(code == ErrorCode::kCompile || code == ErrorCode::kUnsupported, module.error().to_string());
    insist(!module.error().message().empty(), "refused without a reason");
    return 0;
  }
  const Status verified = bytecode::verify(*module);
  insist(verified.ok(), verified.ok() ? "" : verified.error().to_string());
  return 0;
}

}  // namespace dhpvm
