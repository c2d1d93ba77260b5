// SPDX-License-Identifier: Apache-2.0
#include "compiler/parse/expressions.h"

#include "compiler/parse/grammar_parts.h"
#include "compiler/text/habits.h"

namespace dhpvm::compiler {

using ast::BinaryOp;
using ast::ExprKind;

ast::Expr* ExpressionParser::expression() {
  const Level level(*this);
  if (!level.ok) return error_expr();
  ast::Expr* expr = binary(Precedence::kDisjunction);
  if (at(TokenKind::kIn) && !in_panic()) return membership();
  return at(TokenKind::kQuestion) && !in_panic() ? ternary(expr) : expr;
}

ast::Expr* ExpressionParser::operand_of_pattern() {
  const Level level(*this);
  return level.ok ? binary(tighter_than(Precedence::kBitOr)) : error_expr();
}

ast::Expr* ExpressionParser::operand_of_conjunction() {
  const Level level(*this);
  return level.ok ? binary(tighter_than(Precedence::kConjunction)) : error_expr();
}

ast::Expr* ExpressionParser::operand_of_disjunction() {
  const Level level(*this);
  return level.ok ? binary(tighter_than(Precedence::kDisjunction)) : error_expr();
}

ast::Expr* ExpressionParser::inner_expression() {
  const bool outer = std::exchange(state_.arrow_closures, true);
  ast::Expr* expr = expression();
  state_.arrow_closures = outer;
  return expr;
}

ast::Expr* ExpressionParser::condition(std::string_view after) {
  if (at(TokenKind::kLet) || at(TokenKind::kVar)) {
    error(range(), "a condition declares variables at its beginning only, by `let`")
        .help("write `{} let x = value {{ ... }}`, where the value may be null", after);
    return error_expr();
  }
  ast::Expr* expr = expression();
  if (at(TokenKind::kEqual) && !in_panic()) {
    slip(range(), "`=` assigns, and a condition cannot").help("write `==` to compare");
    ast::Expr* comparison = make(ExprKind::kBinary, expr->range);
    comparison->binary = BinaryOp::kEq;
    comparison->operator_range = range();
    advance();
    comparison->operands = {expr, expression()};
    expr = finish(comparison);
  }
  return expr;
}

// `x in xs`, at the `in`; the heads of loops parse their variable as a name.
ast::Expr* ExpressionParser::membership() {
  slip(range(), "`in` stands in `for` only")
      .help(
          "write `xs.contains(x)` for a list, `m.has(key)` for a map or set, `array.contains(a, x)` for an "
          "array, "
          "`str.contains(text, part)` for text");
  advance();
  binary(Precedence::kDisjunction);
  return error_expr();
}

// `c ? a : b` is not part of the language, but clear enough to continue after it.
ast::Expr* ExpressionParser::ternary(ast::Expr* condition) {
  const SourceRange question = range();
  if (!starts_expression(1)) {
    error(question, "`?` stands only in types")
        .help(
            "`try f()` passes an error on; `x!` traps when x is null or an error, `x ?? y` gives y for null");
    return error_expr();
  }
  slip(question, "there is no operator `? :`").help("write `if condition {{ a }} else {{ b }}`");
  advance();
  ast::Expr* choice = make(ExprKind::kIf, condition->range);
  ast::Expr* yes = expression();
  ast::Expr* no = accept(TokenKind::kColon) ? expression() : error_expr();
  choice->operands = {condition, yes, no};
  return finish(choice);
}

// The next operator, if there is one.
std::optional<BinaryOperator> ExpressionParser::next_operator() const {
  if (const std::optional<BinaryOperator> known = binary_operator(kind())) return known;
  if (!starts_expression(1) || token().first_on_line) return std::nullopt;
  if (at(TokenKind::kAt)) return binary_operator(TokenKind::kStar);
  if (!at(TokenKind::kIdentifier)) return std::nullopt;
  // A name can never follow an operand, so these words must be meant as operators.
  const std::string_view meant = operator_for_foreign(text());
  for (const TokenKind kind :
       {TokenKind::kAmpersandAmpersand, TokenKind::kPipePipe, TokenKind::kPercent, TokenKind::kSlash,
        TokenKind::kCaret, TokenKind::kShiftLeft, TokenKind::kShiftRight}) {
    const std::optional<BinaryOperator> known = binary_operator(kind);
    if (known && to_string(known->op) == meant) return known;
  }
  return std::nullopt;
}

ast::Expr* ExpressionParser::binary(Precedence lowest) {
  ast::Expr* left = parts_.operands.unary();
  while (!in_panic()) {
    const std::optional<BinaryOperator> next = next_operator();
    if (!next || next->precedence < lowest) break;
    const auto [op, precedence] = *next;
    const SourceRange where = range();
    if (at(TokenKind::kIdentifier)) {
      slip(where, "`{}` is no operator here", text()).help("write `{}`", to_string(op));
    }
    if (step_habit(left) || foreign_sign(left)) continue;
    const bool chained = left->kind == ExprKind::kBinary && !left->parenthesised &&
                         is_comparison(left->binary) && is_comparison(op);
    if (chained) {
      const SourceRange middle = left->operands[1]->range;
      slip(where, "comparisons do not chain")
          .help("compare twice: `a {} {} && {} {} c`", to_string(left->binary), cursor_.text_of(middle),
                cursor_.text_of(middle), to_string(op));
      advance();
      binary(tighter_than(precedence));
      left = error_expr();
      continue;
    }
    advance();
    if (at(TokenKind::kEqual) && !token().first_on_line && cursor_.previous().end == range().begin &&
        (op == BinaryOp::kEq || op == BinaryOp::kNe)) {
      slip(join(where, range()), "`{}=` is no operator here", to_string(op))
          .help("write `{}`", to_string(op));
      advance();
    }
    ast::Expr* node = make(ExprKind::kBinary, left->range);
    node->binary = op;
    node->operator_range = where;
    ast::Expr* right = precedence == Precedence::kCoalescing ? coalesced() : binary(tighter_than(precedence));
    node->operands = {left, right};
    left = finish(node);
  }
  return left;
}

// `a ?? b ?? c` is right-associative, so that only its last operand needs to be non-null.
ast::Expr* ExpressionParser::coalesced() {
  const Level level(*this);
  return level.ok ? binary(Precedence::kCoalescing) : error_expr();
}

// At the second of two equal signs: in `x++;` and `x--)` no operand follows.
bool ExpressionParser::step_habit(ast::Expr*& expr) {
  const bool doubled =
      (at(TokenKind::kPlus) || at(TokenKind::kMinus)) && kind(1) == kind() && cursor_.touches_next();
  if (!doubled || (starts_expression(2) && !token(2).first_on_line)) return false;
  const SourceRange where = join(range(), range(1));
  const std::string_view sign = text();
  const std::string_view place = cursor_.text_of(expr->range);
  slip(where, "there is no operator `{}{}`", sign, sign)
      .help("write `{} {}= 1;` as a statement", place, sign);
  advance();
  advance();
  expr = error_expr();
  return true;
}

// An operator of one or two signs that only other languages have. `a * *p` has a blank: a different mistake.
bool ExpressionParser::foreign_sign(ast::Expr*& expr) {
  struct Sign {
    TokenKind first;
    TokenKind second;  // kEnd: none
    std::string_view help;
  };
  constexpr Sign kSigns[] = {
      {TokenKind::kStar, TokenKind::kStar,
       "write `math.pow(x, y)` for floats, `math.ipow(x, n)` for integers, with `import math;` at the top"},
      {TokenKind::kAt, TokenKind::kEnd, "write `linalg.gemm(a, b)`, with `import linalg;` at the top"},
      {TokenKind::kLess, TokenKind::kGreater, "write `!=`"},
      {TokenKind::kLessEqual, TokenKind::kGreater,
       "write `a < b`; a type of your own has a method `compare`"},
      {TokenKind::kPipe, TokenKind::kGreater, "write a call, `f(x)`, or a method, `x.f()`"},
  };
  for (const Sign& sign : kSigns) {
    const bool is_two = sign.second != TokenKind::kEnd;
    if (!at(sign.first) || (is_two && (kind(1) != sign.second || !cursor_.touches_next()))) continue;
    const SourceRange where = is_two ? join(range(), range(1)) : range();
    slip(where, "there is no operator `{}`", cursor_.text_of(where)).help("{}", sign.help);
    advance();
    if (is_two) advance();
    parts_.operands.unary();
    expr = error_expr();
    return true;
  }
  return false;
}

}  // namespace dhpvm::compiler
