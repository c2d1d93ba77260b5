// SPDX-License-Identifier: Apache-2.0
// Statements that begin with an expression: assignments and expression statements.
#pragma once

#include "compiler/parse/grammar_part.h"

namespace dhpvm::compiler {

class AssignmentParser : public GrammarPart {
 public:
  using GrammarPart::GrammarPart;

  ast::Stmt* expression_statement();

 private:
  ast::Stmt* assignment(ast::Expr* place);
  void several_places(const ast::Expr& first);
  bool update_operator(ast::BinaryOp& op) const;
};

}  // namespace dhpvm::compiler
