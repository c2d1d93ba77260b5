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
  // At the word before `let`: `if let pattern = value { }` becomes a `match` with an `else`, and the body of `while let
  // pattern = value { }` one whose `else` leaves the loop.
  ast::Stmt* if_let_statement();
  ast::Expr* if_let_expression();
  ast::Stmt* while_let_statement();
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
  ast::Arm let_head(std::string_view word, ast::Expr*& value);
  ast::Arm else_arm();
  ast::Expr* guard();
  void foreign_case(bool& told);
  void arm_arrow(bool& told);
};

}  // namespace dhpvm::compiler
