// SPDX-License-Identifier: Apache-2.0
// The leaves of expressions: literals, names, brackets, closures, `if` as an expression.
#pragma once

#include "compiler/parse/grammar_part.h"

namespace dhpvm::compiler {

class PrimaryParser : public GrammarPart {
 public:
  using GrammarPart::GrammarPart;

  ast::Expr* primary();

  ast::Expr* if_expression();

 private:
  bool foreign_new();
  ast::Expr* not_an_expression();
  ast::Expr* literal();
  ast::Expr* parenthesised();
  ast::Expr* tuple(ast::Expr* first, SourceRange open);
  ast::Expr* foreign_cast(ast::Expr* expr);
  ast::Expr* bracketed();
  ast::Expr* closure();
};

}  // namespace dhpvm::compiler
