// SPDX-License-Identifier: Apache-2.0
// Shared by the tests of lexer and parser.
#pragma once

#include <memory>
#include <string>

#include "compiler/parse/ast_dump.h"
#include "compiler/parse/parser.h"
#include "compiler/text/diagnostics.h"
#include "compiler/text/source.h"

namespace dhpvm::compiler::testing {

// One file, parsed.
struct Parsed {
  explicit Parsed(std::string text, std::string name = "test.dhp") : diagnostics(sources) {
    const std::uint32_t file = sources.add(std::move(name), std::move(text));
    module = parse(sources, file, {}, diagnostics);
  }

  std::string tree() const { return diagnostics.has_errors() ? diagnostics.render() : dump(*module); }
  // "line: message" of each error, one per line, in the order of the source.
  std::string errors() const;

  SourceManager sources;
  Diagnostics diagnostics;
  std::unique_ptr<ast::Module> module;
};

inline std::string Parsed::errors() const {
  std::string text;
  for (const Diagnostic& d : diagnostics.all()) {
    text += std::to_string(sources.position(d.range).line) + ": " + d.message + "\n";
  }
  return text;
}

// The statements of a function's body, as in "(block ...)".
inline std::string body_of(const std::string& statements) {
  const Parsed parsed("fn f() { " + statements + " }");
  if (parsed.diagnostics.has_errors()) return parsed.diagnostics.render();
  return dump(*parsed.module->functions.at(0)->body);
}

inline std::string expression_of(const std::string& expression) {
  const Parsed parsed("const c = " + expression + ";");
  if (parsed.diagnostics.has_errors()) return parsed.diagnostics.render();
  return dump(*parsed.module->constants.at(0)->value);
}

inline std::string type_of(const std::string& type) {
  const Parsed parsed("const c: " + type + " = 0;");
  if (parsed.diagnostics.has_errors()) return parsed.diagnostics.render();
  return dump(*parsed.module->constants.at(0)->type);
}

}  // namespace dhpvm::compiler::testing
