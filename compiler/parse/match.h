// SPDX-License-Identifier: Apache-2.0
// `match`, as a statement and as an expression.
#pragma once

#include "compiler/parse/grammar_part.h"

namespace dhpvm::compiler {

class MatchParser : public GrammarPart {
 public:
  using GrammarPart::GrammarPart;

  ast::Expr* match_expression();
  ast::Stmt* match_statement();

 private:
  template <typename ParseBody>
  std::vector<ast::Arm> arms(ParseBody body);
  std::vector<ast::Pattern> patterns();
  ast::Pattern pattern();
  void arm_arrow();
};

}  // namespace dhpvm::compiler
