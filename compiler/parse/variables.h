// SPDX-License-Identifier: Apache-2.0
// Statements that declare variables: `let`, `var`, `use`.
#pragma once

#include "compiler/parse/grammar_part.h"

namespace dhpvm::compiler {

class VariableParser : public GrammarPart {
 public:
  using GrammarPart::GrammarPart;

  ast::Stmt* let();
  ast::Stmt* variable(ast::StmtKind kind, SourceRange begin, ast::Type* known_type = nullptr);
  ast::Stmt* use();

 private:
  void without_type(ast::Stmt& node);
  bool foreign_pattern(std::string_view word, ast::Stmt& node);
};

}  // namespace dhpvm::compiler
