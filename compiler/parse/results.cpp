// SPDX-License-Identifier: Apache-2.0
#include "compiler/parse/results.h"

#include "compiler/parse/grammar_parts.h"

namespace dhpvm::compiler {

using ast::ExprKind;
using ast::StmtKind;

// At the `catch` behind a value.
ast::Expr* ResultParser::catch_suffix(ast::Expr* failing) {
  ast::Expr* node = make(ExprKind::kCatch, failing->range);
  node->operator_range = range();
  advance();
  node->operands = {failing};
  if (at(TokenKind::kIdentifier)) node->name = take_name();
  node->statement = parts_.value_blocks.block("after `catch`");
  return finish(node);
}

// `return`, `break` or `continue` where a value stands.
ast::Expr* ResultParser::jump_expression() {
  ast::Expr* node = make(ExprKind::kJump, range());
  ast::Stmt* jump = make(at(TokenKind::kReturn)  ? StmtKind::kReturn
                         : at(TokenKind::kBreak) ? StmtKind::kBreak
                                                 : StmtKind::kContinue,
                         range());
  advance();
  if (jump->kind == StmtKind::kReturn && starts_expression() && !token().first_on_line)
    jump->value = parts_.expressions.expression();
  if (jump->kind != StmtKind::kReturn && at(TokenKind::kIdentifier) && !token().first_on_line)
    jump->label = take_name();
  node->statement = finish(jump);
  return finish(node);
}

}  // namespace dhpvm::compiler
