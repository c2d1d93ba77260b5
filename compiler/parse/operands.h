// SPDX-License-Identifier: Apache-2.0
// Operands: signs before a value; conversions, calls, members and indices behind it.
#pragma once

#include "compiler/parse/grammar_part.h"

namespace dhpvm::compiler {

class OperandParser : public GrammarPart {
 public:
  using GrammarPart::GrammarPart;

  ast::Expr* unary();
  ast::Expr* postfix();
  std::vector<ast::Argument> arguments();

 private:
  enum class Access : std::uint8_t { kPlain, kSafe };

  ast::Expr* cast();
  bool null_test_habit();
  ast::Expr* member(ast::Expr* object, Access access);
  ast::Expr* nested_position(ast::Expr* outer);
  ast::Expr* index(ast::Expr* object);
  bool at_range() const;
  void slice_end(ast::Expr& node);
  ast::Expr* call(ast::Expr* callee);
};

}  // namespace dhpvm::compiler
