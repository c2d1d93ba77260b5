// SPDX-License-Identifier: Apache-2.0
// `for` over ranges and collections. `while` is in statements.h.
#pragma once

#include "compiler/parse/grammar_part.h"

namespace dhpvm::compiler {

class LoopParser : public GrammarPart {
 public:
  using GrammarPart::GrammarPart;

  ast::Stmt* for_statement();
  // After `..` or `..=`: the end of the range.
  ast::Expr* range_end(bool& inclusive);
  // After the dots: whether the range is inclusive. Reports the range operators of other languages.
  void range_operator(bool& inclusive);
  // After a range: the expression after `step`, null if there is none.
  ast::Expr* range_step();
  void expect_in(std::string_view name);

 private:
  void word_range(ast::Stmt* node);
  bool has_clauses() const;
  ast::Stmt* foreign_for();
};

}  // namespace dhpvm::compiler
