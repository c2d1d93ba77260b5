// SPDX-License-Identifier: Apache-2.0
// Blocks and statements other than declarations, assignments, loops and `match`.
#pragma once

#include "compiler/parse/grammar_part.h"

namespace dhpvm::compiler {

class StatementParser : public GrammarPart {
 public:
  using GrammarPart::GrammarPart;

  ast::Stmt* statement();
  ast::Stmt* block();
  ast::Stmt* body(std::string_view what);
  ast::Stmt* indented(std::uint32_t head);
  ast::Stmt* otherwise();
  ast::Stmt* labelled();
  ast::Stmt* misplaced_declaration();

 private:
  void block_contents(ast::Stmt* block, SourceRange open);
  // Statements with a keyword, defined in statements.cpp only.
  template <ast::StmtKind>
  ast::Stmt* parse();
  ast::Stmt* jump(ast::StmtKind kind);
};

}  // namespace dhpvm::compiler
