// SPDX-License-Identifier: Apache-2.0
#include "compiler/parse/value_blocks.h"

#include <algorithm>
#include <utility>

#include "compiler/parse/grammar_parts.h"

namespace dhpvm::compiler {

using ast::ExprKind;
using ast::StmtKind;

ast::Stmt* ValueBlockParser::block(std::string_view what) {
  ast::Stmt* node = make(StmtKind::kBlock, range());
  if (at_word("then") && kind(1) != TokenKind::kLeftBrace) {
    error(range(), "a value behind a condition stands in braces, without `then`")
        .help("write `if condition {{ a }} else {{ b }}`");
    return node;
  }
  const SourceRange open = range();
  if (!expect(TokenKind::kLeftBrace, what)) return node;
  const bool outer_arrows = std::exchange(state_.arrow_closures, true);
  const bool outer_body = errors_.set_in_body(true);
  const bool outer_arm = std::exchange(state_.in_arm, false);
  while (!at(TokenKind::kRightBrace) && !at(TokenKind::kEnd) && !recovery_.at_margin_declaration()) {
    const std::uint32_t before = cursor_.position();
    if (has_value_at(before)) {
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
  state_.in_arm = outer_arm;
  errors_.set_in_body(outer_body);
  if (!accept(TokenKind::kRightBrace))
    error(range(), "expected `}}` at the end of the block, found {}", found()).note(open, "it begins here");
  return finish(node);
}

ast::Expr* ValueBlockParser::expression(std::string_view what) {
  const Level level(*this);
  if (!level.ok) return error_expr();
  ast::Expr* node = make(ExprKind::kBlock, range());
  ast::Stmt* list = block(what);
  if (list->body.empty()) {
    if (!in_panic())
      error(cursor_.since(node->range), "this block gives no value").help("write its value in it");
    return error_expr();
  }
  if (list->body.size() == 1 && list->body[0]->gives_value) return list->body[0]->value;
  node->statement = list;
  return finish(node);
}

bool ValueBlockParser::begins_block() const {
  const TokenKind before = kind_at(cursor_.position() - 1);
  const bool is_guard = before == TokenKind::kIf && cursor_.position() == state_.guard;
  const bool is_body = (before == TokenKind::kIf && !is_guard) || before == TokenKind::kWhile ||
                       before == TokenKind::kMatch || before == TokenKind::kIn;
  const std::uint32_t close = state_.layout.partner(cursor_.position());
  if (is_body || close <= cursor_.position() + 1) return false;
  const TokenKind first = kind(1);
  if (is_keyword(first) && !starts_expression(1)) return true;
  const std::uint32_t end = find_at_this_level(cursor_.position() + 1, close,
                                               {TokenKind::kSemicolon, TokenKind::kComma, TokenKind::kColon});
  return end == close || kind_at(end) == TokenKind::kSemicolon;
}

// Whether the value of a block begins at this token: an expression followed by the block's `}`.
bool ValueBlockParser::has_value_at(std::uint32_t at) const {
  const TokenKind first = kind_at(at);
  if (first == TokenKind::kLeftBrace || first == TokenKind::kIf || first == TokenKind::kMatch) {
    const std::uint32_t close = end_of_construct(at);
    if (close == 0 || kind_at(close + 1) != TokenKind::kRightBrace) return false;
    if (first == TokenKind::kLeftBrace) return block_has_value(at);
    return first == TokenKind::kIf ? if_has_value(at) : match_has_value(at);
  }
  // A loop with a label.
  if (first == TokenKind::kIdentifier && is_construct(at)) return false;
  // A `try` block with its `catch` is a statement unless the block has a value.
  const bool is_try = first == TokenKind::kTry && kind_at(at + 1) == TokenKind::kLeftBrace;
  if (is_try && !block_has_value(at + 1)) return false;
  const bool jump =
      first == TokenKind::kReturn || first == TokenKind::kBreak || first == TokenKind::kContinue;
  if (!jump && !starts_expression(at - cursor_.position())) return false;
  const std::uint32_t end =
      find_at_this_level(at, static_cast<std::uint32_t>(cursor_.stream().tokens.size()) - 1,
                         {TokenKind::kSemicolon, TokenKind::kRightBrace});
  return kind_at(end) == TokenKind::kRightBrace && end_of_statement(at, end) >= end;
}

bool ValueBlockParser::block_has_value(std::uint32_t open) const {
  const std::uint32_t close = state_.layout.partner(open);
  for (std::uint32_t at = open + 1; at < close; at = end_of_statement(at, close)) {
    if (has_value_at(at)) return true;
  }
  return false;
}

// Whether one of the branches has a value, and none is missing.
bool ValueBlockParser::if_has_value(std::uint32_t at) const {
  bool has_value = false;
  for (;;) {
    const std::uint32_t open = next_brace(at);
    if (open == 0) return false;
    has_value = has_value || block_has_value(open);
    const std::uint32_t close = state_.layout.partner(open);
    const bool is_else = kind_at(at) == TokenKind::kElse && kind_at(at + 1) != TokenKind::kIf;
    if (kind_at(close + 1) != TokenKind::kElse) return has_value && is_else;
    at = close + 1;
  }
}

// Whether one of the arms has a value: a block with one, or an expression that ends in a comma or at the `}`.
bool ValueBlockParser::match_has_value(std::uint32_t at) const {
  const std::uint32_t open = next_brace(at);
  if (open == 0) return false;
  const std::uint32_t close = state_.layout.partner(open);
  at = open;
  while ((at = find_at_this_level(at + 1, close, {TokenKind::kFatArrow})) < close) {
    if (arm_has_value(at, close)) return true;
  }
  return false;
}

// Whether the arm of a `match` whose `=>` stands at `arrow` has a value; `close` is the `}` of the `match`.
bool ValueBlockParser::arm_has_value(std::uint32_t arrow, std::uint32_t close) const {
  const std::uint32_t body = arrow + 1;
  if (is_construct(body)) {
    const std::uint32_t at = end_of_statement(body, close);
    if (kind_at(body) == TokenKind::kLeftBrace) return block_has_value(body);
    const bool ends = at >= close || kind_at(at) == TokenKind::kComma;
    return ends && (kind_at(body) == TokenKind::kIf      ? if_has_value(body)
                    : kind_at(body) == TokenKind::kMatch ? match_has_value(body)
                                                         : false);
  }
  const std::uint32_t at = find_at_this_level(body, close, {TokenKind::kComma, TokenKind::kSemicolon});
  return at >= close || kind_at(at) == TokenKind::kComma;
}

// A statement that ends in a block.
bool ValueBlockParser::is_construct(std::uint32_t at) const {
  switch (kind_at(at)) {
    case TokenKind::kIf:
    case TokenKind::kMatch:
    case TokenKind::kWhile:
    case TokenKind::kFor:
    case TokenKind::kParallel:
    case TokenKind::kAt:
    case TokenKind::kLeftBrace: return true;
    case TokenKind::kIdentifier:
      return kind_at(at + 1) == TokenKind::kColon &&
             (kind_at(at + 2) == TokenKind::kFor || kind_at(at + 2) == TokenKind::kWhile);
    default: return false;
  }
}

// The `}` that ends the statement that begins here, with all its branches; 0 if there is none.
std::uint32_t ValueBlockParser::end_of_construct(std::uint32_t at) const {
  for (;;) {
    const std::uint32_t open = next_brace(at);
    if (open == 0) return 0;
    const std::uint32_t close = state_.layout.partner(open);
    if (kind_at(close + 1) != TokenKind::kElse) return close;
    at = close + 1;
  }
}

// The token behind the statement that begins here.
std::uint32_t ValueBlockParser::end_of_statement(std::uint32_t at, std::uint32_t close) const {
  if (is_construct(at)) {
    const std::uint32_t end = end_of_construct(at);
    return end == 0 ? close : end + 1;
  }
  for (;; ++at) {
    at = find_at_this_level(at, close, {TokenKind::kSemicolon, TokenKind::kCatch});
    if (at >= close) return close;
    if (kind_at(at) == TokenKind::kSemicolon) return at + 1;
    // The block of a `catch` ends its statement.
    const std::uint32_t open = next_brace(at);
    if (open == 0) return close;
    at = state_.layout.partner(open);
    if (cursor_.token_at(at + 1).first_on_line && kind_at(at + 1) != TokenKind::kSemicolon) return at + 1;
  }
}

// The `{` of the block of the construct that starts here, skipping round and square brackets; 0 if there is none.
std::uint32_t ValueBlockParser::next_brace(std::uint32_t at) const {
  const auto end = static_cast<std::uint32_t>(cursor_.stream().tokens.size()) - 1;
  while (at < end && kind_at(at) != TokenKind::kLeftBrace) {
    if (kind_at(at) == TokenKind::kSemicolon || kind_at(at) == TokenKind::kRightBrace) return 0;
    at = std::max(state_.layout.partner(at), at) + 1;
  }
  return at < end && state_.layout.partner(at) != 0 ? at : 0;
}

// The first token of one of these kinds outside brackets; `end` if there is none before it.
std::uint32_t ValueBlockParser::find_at_this_level(std::uint32_t at, std::uint32_t end,
                                                   std::initializer_list<TokenKind> wanted) const {
  while (at < end && std::find(wanted.begin(), wanted.end(), kind_at(at)) == wanted.end())
    at = std::max(state_.layout.partner(at), at) + 1;
  return std::min(at, end);
}

}  // namespace dhpvm::compiler
