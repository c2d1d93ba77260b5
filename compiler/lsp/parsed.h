// SPDX-License-Identifier: Apache-2.0
// A document and its imports as syntax trees: the basis of all knowledge about one text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compiler/parse/ast.h"
#include "compiler/parse/imports.h"
#include "compiler/text/diagnostics.h"
#include "compiler/text/source.h"

namespace dhpvm::compiler::lsp {

// Immutable. Parts point into one another, so it must not be moved.
class Parsed {
 public:
  // The document as the root of a program.
  Parsed(const std::string& path, std::string text, const ImportOptions& options);
  // A module of the library: the document is the text that programs import.
  Parsed(const BuiltinModule& module, const ImportOptions& options);
  Parsed(const Parsed&) = delete;
  Parsed& operator=(const Parsed&) = delete;

  const SourceManager& sources() const { return sources_; }
  // Syntax errors, and modules that were not found.
  const Diagnostics& diagnostics() const { return diagnostics_; }
  const ast::Program& program() const { return program_; }
  const ast::Module& module() const { return *module_; }  // the document's
  const SourceFile& file() const { return sources_.file(module_->file); }
  std::string_view text_of(const ast::Function& function) const { return sources_.text(function.range); }
  // False if syntax errors have swallowed declarations or an imported module is missing, so that answers may be
  // incomplete.
  bool is_complete() const { return complete_; }
  // The paths of the imported files, without the library's.
  const std::vector<std::string>& imported() const { return imported_; }

 private:
  void look_over();

  SourceManager sources_;
  Diagnostics diagnostics_{sources_};
  ast::Program program_;
  const ast::Module* module_ = nullptr;
  bool complete_ = true;
  std::vector<std::string> imported_;
};

}  // namespace dhpvm::compiler::lsp
