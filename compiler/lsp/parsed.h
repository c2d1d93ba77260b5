// SPDX-License-Identifier: Apache-2.0
// A document and all that it imports, as the parser reads them: what everything that is known of one text begins with.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compiler/parse/ast.h"
#include "compiler/parse/imports.h"
#include "compiler/text/diagnostics.h"
#include "compiler/text/source.h"

namespace dhpvm::compiler::lsp {

// Nothing of it changes once it is made. Parts point into one another, so it stays where it is.
class Parsed {
 public:
  // The document as the root of a program.
  Parsed(const std::string& path, std::string text, const ImportOptions& options);
  // A module of the library: the document is what a program gets that imports it.
  Parsed(const BuiltinModule& module, const ImportOptions& options);
  Parsed(const Parsed&) = delete;
  Parsed& operator=(const Parsed&) = delete;

  const SourceManager& sources() const { return sources_; }
  // Mistakes of syntax, and modules that are not there.
  const Diagnostics& diagnostics() const { return diagnostics_; }
  const ast::Program& program() const { return program_; }
  const ast::Module& module() const { return *module_; }  // the document's
  const SourceFile& file() const { return sources_.file(module_->file); }
  std::string_view text_of(const ast::Function& function) const { return sources_.text(function.range); }
  // False where syntax errors have swallowed declarations, so that answers may lack something.
  bool is_complete() const { return complete_; }
  // The other files that it was made from, by path: not those of the library.
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
