// SPDX-License-Identifier: Apache-2.0
#include "compiler/parse/results.h"

#include "compiler/parse/grammar_parts.h"
#include "compiler/text/habits.h"

namespace dhpvm::compiler {

using ast::ExprKind;
using ast::StmtKind;

// At the `catch` after a value.
ast::Expr* ResultParser::catch_suffix(ast::Expr* failing) {
  ast::Expr* node = make(ExprKind::kCatch, failing->range);
  node->operator_range = range();
  const bool foreign = at(TokenKind::kIdentifier);  // `except`
  if (foreign) slip(range(), "there is no `{}`", text()).help("{}", statement_for_foreign(text()));
  advance();
  node->operands = {failing};
  if (foreign) {
    name_of_exception(*node);
  } else {
    name_of_error(*node);
  }
  const bool arrow = at(TokenKind::kFatArrow) && starts_expression(1);
  if (!at(TokenKind::kLeftBrace) && !in_panic() && (arrow || starts_expression(0))) {
    const SourceRange begin = range();
    if (arrow) advance();
    Diagnostic& problem = slip(begin, "the value for an error stands in braces");
    const ast::Expr* const value = parts_.expressions.expression();
    const std::string_view name = node->name.text;
    problem.help("write `catch {}{}{{ {} }}`", name, name.empty() ? "" : " ", cursor_.text_of(value->range));
    return error_expr();
  }
  node->statement = parts_.value_blocks.block("after `catch`");
  foreign_finally();
  return finish(node);
}

// `catch err`; other languages write `catch (Exception err)` and `catch (err)`.
void ResultParser::name_of_error(ast::Expr& handler) {
  if (at(TokenKind::kIdentifier)) {
    handler.name = take_name();
    return;
  }
  const std::uint32_t close = state_.layout.partner(cursor_.position());
  if (!at(TokenKind::kLeftParen) || in_panic() || close <= cursor_.position()) return;
  const bool named = cursor_.token_at(close - 1).kind == TokenKind::kIdentifier;
  const std::string_view name = named ? cursor_.text_of(cursor_.token_at(close - 1)) : "err";
  slip(range(), "the error stands behind `catch` without parentheses, and has no type")
      .help("write `catch {} {{ ... }}`; its kind is `{}.kind`", name, name);
  while (cursor_.position() < close - (named ? 1U : 0U)) advance();
  if (named) handler.name = take_name();
  advance();
}

// `ValueError as e` after `except`: up to the block, or the colon before it.
void ResultParser::name_of_exception(ast::Expr& handler) {
  while (!at(TokenKind::kLeftBrace) && !at(TokenKind::kColon) && !token().first_on_line &&
         !at(TokenKind::kEnd)) {
    if (at(TokenKind::kIdentifier)) handler.name = {text(), range()};
    advance();
  }
}

void ResultParser::foreign_finally() {
  if (!at_word("finally") || kind(1) != TokenKind::kLeftBrace || in_panic()) return;
  slip(range(), "there is no `finally`")
      .help("`use` closes an object however its block is left: give it a method `close()`");
  advance();
  parts_.statements.block();
}

ast::Expr* ResultParser::try_block() {
  ast::Expr* node = make(ExprKind::kTryBlock, range());
  node->operator_range = range();
  advance();
  node->statement = parts_.value_blocks.block("after `try`");
  foreign_finally();
  return finish(node);
}

// `return`, `break` or `continue` in place of a value.
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
