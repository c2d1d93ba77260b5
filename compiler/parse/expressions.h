// SPDX-License-Identifier: Apache-2.0
// Expressions: binary operators, by precedence climbing. Operands are in operands.h.
#pragma once

#include <optional>

#include "compiler/parse/grammar_part.h"
#include "compiler/parse/precedence.h"

namespace dhpvm::compiler {

class ExpressionParser : public GrammarPart {
 public:
  using GrammarPart::GrammarPart;

  ast::Expr* expression();
  ast::Expr* operand_of_pattern();      // ends before `|` and operators of the same or lower precedence
  ast::Expr* inner_expression();        // in brackets, where `x =>` cannot be a pattern
  ast::Expr* operand_of_conjunction();  // ends before `&&` and `||`
  ast::Expr* operand_of_disjunction();  // ends before `||`
  ast::Expr* condition(std::string_view after);  // also reports `=` in place of `==`

 private:
  ast::Expr* binary(Precedence lowest);
  ast::Expr* coalesced();
  std::optional<BinaryOperator> next_operator() const;
  ast::Expr* membership();
  ast::Expr* ternary(ast::Expr* condition);
  bool step_habit(ast::Expr*& expr);    // x++, x--
  bool foreign_sign(ast::Expr*& expr);  // x ** y, a @ b
};

}  // namespace dhpvm::compiler
