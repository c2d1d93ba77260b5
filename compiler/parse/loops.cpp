// SPDX-License-Identifier: Apache-2.0
#include "compiler/parse/loops.h"

#include "compiler/parse/grammar_parts.h"
#include "compiler/text/habits.h"

namespace dhpvm::compiler {

using ast::StmtKind;

// After `..` or `..=`; sets `inclusive`.
ast::Expr* LoopParser::range_end(bool& inclusive) {
  range_operator(inclusive);
  return parts_.expressions.expression();
}

void LoopParser::range_operator(bool& inclusive) {
  inclusive = cursor_.text_of(cursor_.previous()) == "..=";
  const bool touching = cursor_.previous().end == range().begin;
  if (touching && at(TokenKind::kDot)) {
    slip(join(cursor_.previous(), range()), "there is no operator `...`")
        .help("write `..=` to include the end, `..` to leave it out");
    advance();
  } else if (touching && at(TokenKind::kLess)) {
    slip(join(cursor_.previous(), range()), "there is no operator `..<`")
        .help("write `..`: it leaves the end out");
    advance();
  }
}

ast::Expr* LoopParser::range_step() {
  if (at_word("by")) slip(range(), "the distance of a range's steps is called `step`").help("write `step`");
  if (!at_word("step") && !at_word("by")) return nullptr;
  advance();
  return parts_.expressions.expression();
}

void LoopParser::expect_in(std::string_view name) {
  if (accept(TokenKind::kIn)) return;
  if (at(TokenKind::kColon) || at_word("of")) {
    slip(range(), "expected `in` after the loop variable, found {}", found())
        .help("write `for {} in ...`", name);
    advance();
    // `for i, x := range xs`
    if (at(TokenKind::kEqual)) advance();
    if (at_word("range") && starts_expression(1) && kind(1) != TokenKind::kLeftParen) advance();
    return;
  }
  error(range(), "expected `in` after the loop variable, found {}", found())
      .help(
          "write `for {} in 0..n {{ ... }}`, or `for {} in xs {{ ... }}` for the elements of xs; a loop with "
          "a condition is a `while`",
          name, name);
}

ast::Stmt* LoopParser::for_statement() {
  ast::Stmt* node = make(StmtKind::kForEach, range());
  advance();
  const SourceRange open = range();
  bool in_parentheses = false;
  if (at(TokenKind::kLeftBrace)) {
    slip(open, "a `for` goes over something").help("write `while true {{ ... }}`");
    node->value = error_expr();
    node->body = {parts_.statements.body("for")};
    return finish(node);
  }
  if (!at(TokenKind::kLeftParen) && has_clauses()) return foreign_for();
  const auto at_tuple = [&] {
    if (!at(TokenKind::kLeftParen)) return false;
    const TokenKind behind = state_.layout.behind_group(cursor_.position());
    return behind == TokenKind::kIn || behind == TokenKind::kComma;
  };
  // A name, or a pattern for a tuple.
  const auto variable = [&](ast::Name& name, std::vector<ast::Pattern>& patterns, std::string_view what) {
    if (!at_tuple()) {
      name = expect_name(what);
      return;
    }
    patterns.push_back(parts_.matches.tuple_pattern());
    name.range = patterns[0].range;
  };
  if (at(TokenKind::kLeftParen) && !at_tuple()) {
    const bool is_in =
        kind(1) == TokenKind::kIdentifier && (kind(2) == TokenKind::kIn || kind(2) == TokenKind::kComma);
    if (!is_in) return foreign_for();
    slip(open, "the head of a `for` has no parentheses").help("write `for {} in ... {{ }}`", text(1));
    advance();
    in_parentheses = true;
  }
  if (at(TokenKind::kLet) || at(TokenKind::kVar) ||
      (at(TokenKind::kIdentifier) && kind(1) == TokenKind::kIdentifier && !variable_word(text()).empty())) {
    slip(range(), "the loop variable is declared by `for` itself").help("remove `{}`", text());
    advance();
  }
  variable(node->name, node->patterns, "the name of the loop variable");
  if (!in_panic() && accept(TokenKind::kComma)) {
    node->index_name = std::exchange(node->name, {});
    node->index_patterns.swap(node->patterns);
    variable(node->name, node->patterns, "the name of the element");
  }
  if (!in_panic()) expect_in(node->name.text);
  if (!in_panic()) node->value = parts_.expressions.expression();
  const bool colon_range = !in_panic() && at(TokenKind::kColon) && node->value->kind == ast::ExprKind::kInt &&
                           starts_expression(1) && !token(1).first_on_line;
  if (colon_range)
    slip(range(), "a range is written with two points").help("write `low..=high`, or `low..end`");
  if (!in_panic() && (at(TokenKind::kDotDot) || at(TokenKind::kDotDotEqual) || colon_range)) {
    node->kind = StmtKind::kForRange;
    advance();
    node->limit = range_end(node->inclusive);
    if (const auto& parts = node->patterns.empty() ? node->index_patterns : node->patterns; !parts.empty()) {
      slip(parts[0].range, "a range gives numbers, which have no parts").help("write a name");
      node->patterns.clear();
      node->index_patterns.clear();
    } else if (node->has_index()) {
      slip(node->name.range, "a range gives one variable")
          .help("write `for {} in ...`", node->index_name.text);
      node->index_name = {};
    }
    node->step = range_step();
  }
  if (node->kind == StmtKind::kForEach && !in_panic()) word_range(node);
  if (in_parentheses && !in_panic()) expect(TokenKind::kRightParen, "after the head of the loop");
  if (in_panic() && !recovery_.skip_to_brace()) return error_stmt();
  if (node->value == nullptr) node->value = error_expr();
  node->body = {parts_.statements.body("for")};
  return finish(node);
}

// `for i in 0 until 10`, `10 downTo 0`: continues as if it were correct.
void LoopParser::word_range(ast::Stmt* node) {
  const bool down = at_word("downTo");
  if (!down && !at_word("until") && !at_word("to")) return;
  auto& problem = slip(range(), "there is no `{}`", text());
  if (down) {
    problem.help("write `for {} in high..=low step -1`", node->name.text);
  } else {
    problem.help("write `..`, which leaves the end out, or `..=`");
  }
  advance();
  node->kind = StmtKind::kForRange;
  node->limit = parts_.expressions.expression();
  if (down) {
    // Counts down, so that no other error is reported.
    node->step = error_expr();
  }
}

// Whether the head is `i := 0; i < n; i++`, up to its block on the same line. The next `for` ends the search, so that a
// line of many loops takes linear time.
bool LoopParser::has_clauses() const {
  bool semicolon = false;
  for (std::uint32_t ahead = 0; !token(ahead).first_on_line; ++ahead) {
    if (kind(ahead) == TokenKind::kEnd || kind(ahead) == TokenKind::kRightBrace) return false;
    if (kind(ahead) == TokenKind::kIn || kind(ahead) == TokenKind::kFor) return false;
    if (kind(ahead) == TokenKind::kLeftBrace) return semicolon;
    semicolon = semicolon || kind(ahead) == TokenKind::kSemicolon;
  }
  return false;
}

// for (int i = 0; i < n; i++), for (auto& x : xs): reports how it is written here and continues at the body.
ast::Stmt* LoopParser::foreign_for() {
  const SourceRange open = range();
  bool has_semicolon = false;
  std::uint32_t depth = 0;
  while (!at(TokenKind::kEnd) && !at(TokenKind::kLeftBrace) && !at(TokenKind::kRightBrace)) {
    if (token().first_on_line && depth > 0 && has_semicolon) break;
    if (at(TokenKind::kLeftParen)) ++depth;
    if (at(TokenKind::kRightParen) && --depth == 0) {
      advance();
      break;
    }
    has_semicolon = has_semicolon || at(TokenKind::kSemicolon);
    advance();
  }
  auto& problem = slip(cursor_.since(open), "this is not how a `for` is written here");
  if (has_semicolon) {
    problem.help(
        "write `for i in 0..n {{ ... }}`, with `step 2` behind it where needed; other loops are `while`");
  } else {
    problem.help("write `for x in xs {{ ... }}`");
  }
  if (!at(TokenKind::kSemicolon)) parts_.statements.body("for");
  return error_stmt();
}

}  // namespace dhpvm::compiler
