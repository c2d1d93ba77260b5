// SPDX-License-Identifier: Apache-2.0
// Parses handlers of errors, `e catch err { ... }`, and jumps that stand in place of a value: `x ?? return`.
#pragma once

#include "compiler/parse/grammar_part.h"

namespace dhpvm::compiler {

class ResultParser : public GrammarPart {
 public:
  using GrammarPart::GrammarPart;

  ast::Expr* catch_suffix(ast::Expr* failing);
  ast::Expr* try_block();
  ast::Expr* jump_expression();

 private:
  void name_of_error(ast::Expr& handler);
  void name_of_exception(ast::Expr& handler);
  void foreign_finally();
};

}  // namespace dhpvm::compiler
