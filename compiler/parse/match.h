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
  // At the `(` of `(a, b)`.
  ast::Pattern tuple_pattern();

 private:
  template <typename ParseBody>
  std::vector<ast::Arm> arms(ParseBody body);
  std::vector<ast::Pattern> patterns();
  ast::Pattern pattern();
  ast::Pattern part();
  ast::Pattern alternative();
  ast::Pattern case_pattern(std::uint32_t tokens);
  std::uint32_t tokens_of_case_name() const;
  void parts_in_parentheses(ast::Pattern& whole);
  ast::Expr* guard();
  void arm_arrow();
};

}  // namespace dhpvm::compiler
