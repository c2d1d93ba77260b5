// SPDX-License-Identifier: Apache-2.0
// Operators, calls, members. The leaves of expressions are in primary.cpp.
#include "compiler/parse/parser_impl.h"

namespace dhpvm::compiler {

using ast::BinaryOp;
using ast::ExprKind;
using ast::UnaryOp;

namespace {

struct Operator {
  TokenKind token;
  BinaryOp op;
  int precedence;
};

constexpr int kComparison = 3;
constexpr int kCoalescing = 4;

constexpr Operator kOperators[] = {
    {TokenKind::kPipePipe, BinaryOp::kOr, 1},
    {TokenKind::kAmpersandAmpersand, BinaryOp::kAnd, 2},
    {TokenKind::kEqualEqual, BinaryOp::kEq, kComparison},
    {TokenKind::kBangEqual, BinaryOp::kNe, kComparison},
    {TokenKind::kLess, BinaryOp::kLt, kComparison},
    {TokenKind::kLessEqual, BinaryOp::kLe, kComparison},
    {TokenKind::kGreater, BinaryOp::kGt, kComparison},
    {TokenKind::kGreaterEqual, BinaryOp::kGe, kComparison},
    {TokenKind::kQuestionQuestion, BinaryOp::kCoalesce, kCoalescing},
    {TokenKind::kPipe, BinaryOp::kBitOr, 5},
    {TokenKind::kCaret, BinaryOp::kBitXor, 6},
    {TokenKind::kAmpersand, BinaryOp::kBitAnd, 7},
    {TokenKind::kShiftLeft, BinaryOp::kShl, 8},
    {TokenKind::kShiftRight, BinaryOp::kShr, 8},
    {TokenKind::kPlus, BinaryOp::kAdd, 9},
    {TokenKind::kMinus, BinaryOp::kSub, 9},
    {TokenKind::kStar, BinaryOp::kMul, 10},
    {TokenKind::kSlash, BinaryOp::kDiv, 10},
    {TokenKind::kPercent, BinaryOp::kRem, 10},
};

bool is_comparison(BinaryOp op) {
  switch (op) {
    case BinaryOp::kEq:
    case BinaryOp::kNe:
    case BinaryOp::kLt:
    case BinaryOp::kLe:
    case BinaryOp::kGt:
    case BinaryOp::kGe: return true;
    default: return false;
  }
}

}  // namespace

bool Parser::starts_expression(std::uint32_t ahead) const {
  switch (kind(ahead)) {
    case TokenKind::kIdentifier:
    case TokenKind::kInt:
    case TokenKind::kByte:
    case TokenKind::kFloat:
    case TokenKind::kString:
    case TokenKind::kFormatBegin:
    case TokenKind::kTrue:
    case TokenKind::kFalse:
    case TokenKind::kNull:
    case TokenKind::kThis:
    case TokenKind::kFn:
    case TokenKind::kIf:
    case TokenKind::kMatch:
    case TokenKind::kLeftParen:
    case TokenKind::kLeftBracket:
    case TokenKind::kMinus:
    case TokenKind::kBang:
    case TokenKind::kTilde: return true;
    default: return false;
  }
}

ast::Expr* Parser::expression() {
  const Level level(*this);
  if (!level.ok) return error_expr();
  ast::Expr* expr = binary(1);
  if (at(TokenKind::kIn) && !panic_) return membership();
  return at(TokenKind::kQuestion) && !panic_ ? ternary(expr) : expr;
}

ast::Expr* Parser::condition(std::string_view after) {
  if (at(TokenKind::kLet) || at(TokenKind::kVar)) {
    error(range(), "a condition declares no variables")
        .help("declare it before; `{} x != null {{ ... }}` then knows in the block that x is not null",
              after);
    return error_expr();
  }
  ast::Expr* expr = expression();
  if (at(TokenKind::kEqual) && !panic_) {
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

// `x in xs`, at the `in`; the heads of loops read their variable as a name.
ast::Expr* Parser::membership() {
  slip(range(), "`in` stands in `for` only")
      .help(
          "write `xs.contains(x)` for a list, `m.has(key)` for a map or set, `array.contains(a, x)` for an "
          "array, "
          "`str.contains(text, part)` for text");
  advance();
  binary(1);
  return error_expr();
}

// `c ? a : b` is not of this language, but clear enough to go on behind it.
ast::Expr* Parser::ternary(ast::Expr* condition) {
  const SourceRange question = range();
  if (!starts_expression(1)) {
    error(question, "`?` stands only in types").help("`x!` traps when x is null, `x ?? y` gives y instead");
    return condition;
  }
  slip(question, "there is no operator `? :`").help("write `if condition {{ a }} else {{ b }}`");
  advance();
  ast::Expr* choice = make(ExprKind::kIf, condition->range);
  ast::Expr* yes = expression();
  ast::Expr* no = accept(TokenKind::kColon) ? expression() : error_expr();
  choice->operands = {condition, yes, no};
  return finish(choice);
}

bool Parser::binary_operator(BinaryOp& op, int& precedence, SourceRange& where) {
  where = range();
  for (const Operator& row : kOperators) {
    if (row.token != kind()) continue;
    op = row.op;
    precedence = row.precedence;
    return true;
  }
  // A name can never follow an operand, so that these words can only be meant as operators.
  const bool conjunction = at_word("and");
  if (!conjunction && !at_word("or")) return false;
  if (!starts_expression(1) || token().first_on_line) return false;
  op = conjunction ? BinaryOp::kAnd : BinaryOp::kOr;
  precedence = conjunction ? 2 : 1;
  return true;
}

ast::Expr* Parser::binary(int lowest) {
  ast::Expr* left = unary();
  BinaryOp op = BinaryOp::kAdd;
  int precedence = 0;
  SourceRange where;
  while (!panic_ && binary_operator(op, precedence, where) && precedence >= lowest) {
    if (at(TokenKind::kIdentifier)) {
      slip(where, "`{}` is no operator here", text()).help("write `{}`", to_string(op));
    }
    if (step_habit(left) || power_habit(left)) continue;
    const bool chained = left->kind == ExprKind::kBinary && !left->parenthesised &&
                         is_comparison(left->binary) && is_comparison(op);
    if (chained) {
      const SourceRange middle = left->operands[1]->range;
      slip(where, "comparisons do not chain")
          .help("compare twice: `a {} {} && {} {} c`", to_string(left->binary),
                source_.substr(middle.begin, middle.end - middle.begin),
                source_.substr(middle.begin, middle.end - middle.begin), to_string(op));
      advance();
      binary(precedence + 1);
      left = error_expr();
      continue;
    }
    advance();
    if (at(TokenKind::kEqual) && !token().first_on_line && previous().end == range().begin &&
        (op == BinaryOp::kEq || op == BinaryOp::kNe)) {
      slip(join(where, range()), "`{}=` is no operator here", to_string(op))
          .help("write `{}`", to_string(op));
      advance();
    }
    ast::Expr* node = make(ExprKind::kBinary, left->range);
    node->binary = op;
    node->operator_range = where;
    ast::Expr* right = precedence == kCoalescing ? coalesced() : binary(precedence + 1);
    node->operands = {left, right};
    left = finish(node);
  }
  return left;
}

// `a ?? b ?? c` groups to the right, so that only its last part need be non-null.
ast::Expr* Parser::coalesced() {
  const Level level(*this);
  return level.ok ? binary(kCoalescing) : error_expr();
}

// At the second of two equal signs: `x++;` and `x--)` have nothing behind them that could be an operand.
bool Parser::step_habit(ast::Expr*& expr) {
  const bool doubled = (at(TokenKind::kPlus) || at(TokenKind::kMinus)) && kind(1) == kind() && touches_next();
  if (!doubled || (starts_expression(2) && !token(2).first_on_line)) return false;
  const SourceRange where = join(range(), range(1));
  const std::string_view sign = text();
  const std::string_view place = source_.substr(expr->range.begin, expr->range.end - expr->range.begin);
  slip(where, "there is no operator `{}{}`", sign, sign)
      .help("write `{} {}= 1;` as a statement", place, sign);
  advance();
  advance();
  expr = error_expr();
  return true;
}

// At the `**` of other languages. `a * *p` is written with a blank and is another habit.
bool Parser::power_habit(ast::Expr*& expr) {
  if (!at(TokenKind::kStar) || kind(1) != TokenKind::kStar || !touches_next()) return false;
  slip(join(range(), range(1)), "there is no operator `**`")
      .help(
          "write `math.pow(x, y)` for floats, `math.ipow(x, n)` for integers, with `import math;` at the "
          "top");
  advance();
  advance();
  unary();
  expr = error_expr();
  return true;
}

ast::Expr* Parser::unary() {
  struct Prefix {
    UnaryOp op;
    SourceRange where;
  };
  std::vector<Prefix> prefixes;
  for (;;) {
    const SourceRange where = range();
    if (at(TokenKind::kMinus)) {
      prefixes.push_back({UnaryOp::kNegate, where});
    } else if (at(TokenKind::kBang)) {
      prefixes.push_back({UnaryOp::kNot, where});
    } else if (at(TokenKind::kTilde)) {
      prefixes.push_back({UnaryOp::kComplement, where});
    } else if (at_word("not") && starts_expression(1) && kind(1) != TokenKind::kLeftParen &&
               kind(1) != TokenKind::kLeftBracket && kind(1) != TokenKind::kMinus) {
      slip(where, "`not` is no operator here").help("write `!`");
      prefixes.push_back({UnaryOp::kNot, where});
    } else if (at(TokenKind::kPlus)) {
      if (kind(1) == TokenKind::kPlus && touches_next()) {
        slip(join(where, range(1)), "there is no operator `++`").help("write `x += 1;` as a statement");
        advance();
      } else {
        slip(where, "there is no sign `+`").help("remove it");
      }
    } else if ((at(TokenKind::kAmpersand) || at(TokenKind::kStar)) && starts_expression(1)) {
      slip(where, "there are no pointers, and no operator `{}` before a value", text())
          .help("remove it: arrays and class instances are passed by reference, the rest by value");
    } else {
      break;
    }
    advance();
  }
  ast::Expr* expr = cast();
  for (auto prefix = prefixes.rbegin(); prefix != prefixes.rend() && !given_up_; ++prefix) {
    ast::Expr* node = make(ExprKind::kUnary, join(prefix->where, expr->range));
    node->unary = prefix->op;
    node->operator_range = prefix->where;
    node->operands = {expr};
    expr = finish(node);
  }
  return expr;
}

ast::Expr* Parser::cast() {
  ast::Expr* expr = postfix();
  while (!panic_ && (at(TokenKind::kAs) || at(TokenKind::kIs))) {
    ast::Expr* node = make(at(TokenKind::kAs) ? ExprKind::kCast : ExprKind::kIs, expr->range);
    node->operator_range = range();
    advance();
    if (node->kind == ExprKind::kCast && at(TokenKind::kQuestion)) {
      node->kind = ExprKind::kCastOrNull;
      node->operator_range = join(node->operator_range, range());
      advance();
    }
    if (node->kind == ExprKind::kIs && null_test_habit()) return error_expr();
    node->operands = {expr};
    node->type = type(TypePlace::kExpression);
    expr = finish(node);
  }
  return expr;
}

// After `is`: says so when `is not` or `is null` was written. True when null was the operand, and is skipped.
bool Parser::null_test_habit() {
  const bool negated = at_word("not") || at(TokenKind::kBang);
  const bool null = kind(negated ? 1 : 0) == TokenKind::kNull;
  if (null) {
    slip(range(), "`is` tests for a type").help("write `{}= null`", negated ? '!' : '=');
  } else if (negated) {
    slip(range(), "there is no `is not`").help("write `!(x is T)`");
  }
  if (negated) advance();
  if (null) advance();
  return null;
}

ast::Expr* Parser::postfix() {
  ast::Expr* expr = primary();
  while (!panic_) {
    switch (kind()) {
      case TokenKind::kLeftParen: expr = call(expr); break;
      case TokenKind::kLeftBracket: expr = index(expr); break;
      case TokenKind::kDot: expr = member(expr, false); break;
      case TokenKind::kQuestionDot: expr = member(expr, true); break;
      case TokenKind::kBang: {
        ast::Expr* node = make(ExprKind::kUnwrap, expr->range);
        node->operator_range = range();
        advance();
        node->operands = {expr};
        expr = finish(node);
        break;
      }
      case TokenKind::kArrow:
        slip(range(), "members are reached with a dot").help("write `.`");
        expr = member(expr, false);
        break;
      case TokenKind::kColon: {
        const bool path = kind(1) == TokenKind::kColon && touches_next() && kind(2) == TokenKind::kIdentifier;
        if (!path) return expr;
        slip(join(range(), range(1)), "members are reached with a dot").help("write `.`");
        advance();
        expr = member(expr, false);
        break;
      }
      case TokenKind::kLess: {
        const bool nameable =
            (expr->kind == ExprKind::kName || expr->kind == ExprKind::kMember) && !expr->parenthesised;
        const std::uint32_t end = nameable ? end_of_type_arguments(pos_) : kNoType;
        if (end == kNoType) return expr;
        const TokenKind next = stream_.tokens[end].kind;
        // Nothing of this could follow the `>` of a comparison.
        const bool unfinished = next == TokenKind::kSemicolon || next == TokenKind::kRightParen ||
                                next == TokenKind::kComma || next == TokenKind::kDot;
        if (next != TokenKind::kLeftParen && !unfinished) return expr;
        expr = call(expr);
        break;
      }
      default: return expr;
    }
  }
  return expr;
}

ast::Expr* Parser::member(ast::Expr* object, bool safe) {
  ast::Expr* node = make(ExprKind::kMember, object->range);
  advance();
  node->safe = safe;
  node->operands = {object};
  if (object->kind == ExprKind::kInt && !at(TokenKind::kIdentifier)) {
    error(previous(), "a number does not end in a point").help("write `1.0`");
    return error_expr();
  }
  node->name = expect_name("the name of a member");
  return finish(node);
}

ast::Expr* Parser::index(ast::Expr* object) {
  ast::Expr* node = make(ExprKind::kIndex, object->range);
  const SourceRange open = range();
  advance();
  node->operands = {object};
  if (at(TokenKind::kRightBracket)) {
    error(join(open, range()), "there is no index between the brackets").help("write for example `a[0]`");
    advance();
    return finish(node);
  }
  do {
    if (at(TokenKind::kRightBracket)) break;
    node->operands.push_back(expression());
  } while (!panic_ && accept(TokenKind::kComma));
  if (at(TokenKind::kDotDot) || at(TokenKind::kDotDotEqual) || at(TokenKind::kColon)) {
    error(range(), "an index is one place, not a range")
        .help("copy a part: `a.slice(low, high)` of an array, `str.slice(s, low, high)` of a text");
  }
  if (!panic_ && !accept(TokenKind::kRightBracket)) {
    error(range(), "expected `]` after the index, found {}", found()).note(open, "it is opened here");
  }
  if (node->operands.size() > 4) {
    slip(since(open), "there are {} indices; arrays have at most three dimensions", node->operands.size() - 1)
        .help("arrays of arrays are indexed one by one: `a[i][j]`");
    node->operands.resize(4);
  }
  return finish(node);
}

ast::Expr* Parser::call(ast::Expr* callee) {
  ast::Expr* node = make(ExprKind::kCall, callee->range);
  node->operands = {callee};
  if (at(TokenKind::kLess)) {
    node->type_arguments = type_arguments();
    if (!panic_ && !at(TokenKind::kLeftParen)) {
      const SourceRange whole = since(callee->range);
      slip(whole, "a type with arguments is no value")
          .help("make an object by calling it: `{}()`", source_.substr(whole.begin, whole.end - whole.begin));
      return error_expr();
    }
  }
  if (!panic_) node->arguments = arguments();
  return finish(node);
}

std::vector<ast::Argument> Parser::arguments() {
  std::vector<ast::Argument> list;
  const SourceRange open = range();
  advance();
  while (!at(TokenKind::kRightParen) && !at(TokenKind::kEnd)) {
    ast::Argument argument;
    const bool named = (at(TokenKind::kIdentifier) || at(TokenKind::kInit)) && kind(1) == TokenKind::kColon &&
                       kind(2) != TokenKind::kColon;
    const bool assigned = at(TokenKind::kIdentifier) && kind(1) == TokenKind::kEqual;
    if (assigned) slip(range(1), "named arguments take a colon").help("write `{}: value`", text());
    if (named || assigned) {
      argument.name = take_name();
      advance();
    } else if (!list.empty() && !list.back().name.empty()) {
      slip(range(), "an argument without a name follows one with a name")
          .help("name this one too, or put it first");
    }
    argument.value = expression();
    list.push_back(argument);
    if (panic_) return list;
    if (accept(TokenKind::kComma)) continue;
    if (at(TokenKind::kRightParen)) break;
    // A new line where the list should go on: most likely the bracket is missing.
    error(range(), "expected `,` or `)` after the argument, found {}", found())
        .note(open, "the list is opened here");
    return list;
  }
  if (!accept(TokenKind::kRightParen)) {
    error(range(), "expected `)` after the arguments, found {}", found())
        .note(open, "the list is opened here");
  }
  return list;
}

}  // namespace dhpvm::compiler
