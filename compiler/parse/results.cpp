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
  node->statement = handler();
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

// A block that may end in a value: an expression without `;`.
ast::Stmt* ResultParser::handler() {
  ast::Stmt* node = make(StmtKind::kBlock, range());
  const SourceRange open = range();
  if (!expect(TokenKind::kLeftBrace, "after `catch`")) return node;
  const bool outer_arrows = std::exchange(state_.arrow_closures, true);
  const bool outer_body = errors_.set_in_body(true);
  while (!at(TokenKind::kRightBrace) && !at(TokenKind::kEnd) && !recovery_.at_margin_declaration()) {
    const std::uint32_t before = cursor_.position();
    if (gives_value()) {
      ast::Stmt* value = make(StmtKind::kExpr, range());
      value->value = parts_.expressions.expression();
      value->gives_value = at(TokenKind::kRightBrace);
      if (!value->gives_value && !in_panic()) expect_semicolon("the statement");
      node->body.push_back(finish(value));
    } else {
      node->body.push_back(parts_.statements.statement());
    }
    if (in_panic()) recovery_.skip_to_statement();
    if (cursor_.position() == before && !at(TokenKind::kRightBrace) && !recovery_.at_margin_declaration())
      advance();
  }
  state_.arrow_closures = outer_arrows;
  errors_.set_in_body(outer_body);
  if (!accept(TokenKind::kRightBrace))
    error(range(), "expected `}}` at the end of the block, found {}", found()).note(open, "it begins here");
  return finish(node);
}

// Whether the value of the block begins here: an expression with the block's `}` behind it. `if` and `match` begin one
// when they stand at the end and their last branch holds an expression.
bool ResultParser::gives_value() const {
  const bool jump = at(TokenKind::kReturn) || at(TokenKind::kBreak) || at(TokenKind::kContinue);
  if (!jump && !starts_expression()) return false;
  if (at(TokenKind::kIf) || at(TokenKind::kMatch)) {
    const std::uint32_t close = last_brace_of_construct();
    if (close == 0 || cursor_.token_at(close + 1).kind != TokenKind::kRightBrace) return false;
    const TokenKind last = cursor_.token_at(close - 1).kind;
    return last != TokenKind::kSemicolon && last != TokenKind::kRightBrace && last != TokenKind::kLeftBrace;
  }
  std::uint32_t at = cursor_.position();
  for (;; ++at) {
    const TokenKind kind = cursor_.token_at(at).kind;
    if (const std::uint32_t close = state_.layout.partner(at); close != 0) {
      at = close;
    } else if (kind == TokenKind::kRightBrace) {
      return true;
    } else if (kind == TokenKind::kSemicolon || kind == TokenKind::kEnd) {
      return false;
    }
  }
}

// The `}` that ends the `if`, with its `else`, or the `match` at this point; 0 if there is none.
std::uint32_t ResultParser::last_brace_of_construct() const {
  std::uint32_t at = cursor_.position();
  for (;;) {
    while (cursor_.token_at(at).kind != TokenKind::kLeftBrace) {
      const TokenKind kind = cursor_.token_at(at).kind;
      if (kind == TokenKind::kSemicolon || kind == TokenKind::kRightBrace || kind == TokenKind::kEnd)
        return 0;
      ++at;
    }
    const std::uint32_t close = state_.layout.partner(at);
    if (close == 0 || cursor_.token_at(close + 1).kind != TokenKind::kElse) return close;
    at = close + 1;
  }
}

}  // namespace dhpvm::compiler
