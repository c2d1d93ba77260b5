// SPDX-License-Identifier: Apache-2.0
#include "compiler/parse/operands.h"

#include "compiler/parse/grammar_parts.h"
#include "compiler/text/habits.h"

namespace dhpvm::compiler {

using ast::ExprKind;
using ast::UnaryOp;

ast::Expr* OperandParser::unary() {
  struct Prefix {
    ExprKind kind;
    UnaryOp op;
    SourceRange where;
  };
  std::vector<Prefix> prefixes;
  for (;;) {
    const SourceRange where = range();
    if (at(TokenKind::kMinus)) {
      prefixes.push_back({ExprKind::kUnary, UnaryOp::kNegate, where});
    } else if (at(TokenKind::kBang)) {
      prefixes.push_back({ExprKind::kUnary, UnaryOp::kNot, where});
    } else if (at(TokenKind::kTilde)) {
      prefixes.push_back({ExprKind::kUnary, UnaryOp::kComplement, where});
    } else if (at(TokenKind::kTry) && kind(1) != TokenKind::kLeftBrace) {
      prefixes.push_back({ExprKind::kTry, UnaryOp::kNot, where});
    } else if (at_word("not") && starts_expression(1) && kind(1) != TokenKind::kLeftParen &&
               kind(1) != TokenKind::kLeftBracket && kind(1) != TokenKind::kMinus && !at_word("step", 1) &&
               !at_word("reduce", 1)) {
      slip(where, "`not` is no operator here").help("write `!`");
      prefixes.push_back({ExprKind::kUnary, UnaryOp::kNot, where});
    } else if (at(TokenKind::kPlus)) {
      if (kind(1) == TokenKind::kPlus && cursor_.touches_next()) {
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
  for (auto prefix = prefixes.rbegin(); prefix != prefixes.rend() && !errors_.has_given_up(); ++prefix) {
    ast::Expr* node = make(prefix->kind, join(prefix->where, expr->range));
    node->unary = prefix->op;
    node->operator_range = prefix->where;
    node->operands = {expr};
    expr = finish(node);
  }
  return expr;
}

ast::Expr* OperandParser::cast() {
  ast::Expr* expr = postfix();
  // `b instanceof C`
  const auto foreign_is = [&] {
    return at(TokenKind::kIdentifier) && !token().first_on_line && kind(1) == TokenKind::kIdentifier &&
           operator_for_foreign(text()) == "is";
  };
  while (!in_panic() && (at(TokenKind::kAs) || at(TokenKind::kIs) || foreign_is())) {
    if (at(TokenKind::kIdentifier)) slip(range(), "`{}` is no operator here", text()).help("write `is`");
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
    node->type = parts_.types.type(TypePlace::kExpression);
    expr = finish(node);
  }
  return expr;
}

// After `is`: reports `is not` and `is null`. True if null was the operand, which is skipped.
bool OperandParser::null_test_habit() {
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

ast::Expr* OperandParser::postfix() {
  ast::Expr* expr = parts_.primary.primary();
  while (!in_panic()) {
    switch (kind()) {
      case TokenKind::kLeftParen: expr = call(expr); break;
      case TokenKind::kLeftBracket: expr = index(expr); break;
      case TokenKind::kDot: expr = member(expr, Access::kPlain); break;
      case TokenKind::kQuestionDot: expr = member(expr, Access::kSafe); break;
      case TokenKind::kBang: {
        ast::Expr* node = make(ExprKind::kUnwrap, expr->range);
        node->operator_range = range();
        advance();
        node->operands = {expr};
        expr = finish(node);
        break;
      }
      case TokenKind::kCatch: return parts_.results.catch_suffix(expr);
      case TokenKind::kIdentifier:
        if (expr->kind != ExprKind::kTryBlock || (!at_word("except") && !at_word("rescue"))) return expr;
        return parts_.results.catch_suffix(expr);
      case TokenKind::kArrow:
        if (!state_.arrow_closures)
          return expr;  // `1 -> f()`, as other languages write the arms of a `match`
        slip(range(), "members are reached with a dot").help("write `.`");
        expr = member(expr, Access::kPlain);
        break;
      case TokenKind::kColon: {
        const bool path =
            kind(1) == TokenKind::kColon && cursor_.touches_next() && kind(2) == TokenKind::kIdentifier;
        if (!path) return expr;
        if (expr->kind == ExprKind::kName && expr->name.text == "std") {
          error(join(expr->range, range(1)), "there is no `std::`")
              .help("write `import name;` at the top of the file, and `name.function(...)`");
          return error_expr();
        }
        slip(join(range(), range(1)), "members are reached with a dot").help("write `.`");
        advance();
        expr = member(expr, Access::kPlain);
        break;
      }
      case TokenKind::kLess: {
        const bool nameable =
            (expr->kind == ExprKind::kName || expr->kind == ExprKind::kMember) && !expr->parenthesised;
        const std::uint32_t end =
            nameable ? TypeScan::end_of_type_arguments(cursor_, cursor_.position()) : TypeScan::kNoType;
        if (end == TypeScan::kNoType) return expr;
        const TokenKind next = cursor_.token_at(end).kind;
        // None of these can follow the `>` of a comparison.
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

ast::Expr* OperandParser::member(ast::Expr* object, Access access) {
  ast::Expr* node = make(ExprKind::kMember, object->range);
  advance();
  node->safe = access == Access::kSafe;
  node->operands = {object};
  if (object->kind == ExprKind::kInt && !at(TokenKind::kIdentifier)) {
    error(cursor_.previous(), "a number does not end in a point").help("write `1.0`");
    return error_expr();
  }
  if (at(TokenKind::kInt)) {
    node->name = take_name();  // `t.0`
    return finish(node);
  }
  if (at(TokenKind::kFloat)) return nested_position(node);
  node->name = expect_name("the name of a member");
  return finish(node);
}

// `t.0.1`, where the lexer reads the number 0.1.
ast::Expr* OperandParser::nested_position(ast::Expr* outer) {
  const ast::Name whole = take_name();
  const std::size_t point = whole.text.find('.');
  const bool is_position = whole.text.find_first_not_of("0123456789.") == std::string_view::npos;
  if (!is_position || point == std::string_view::npos || point + 1 == whole.text.size()) {
    error(whole.range, "expected the name of a member, found a number");
    return error_expr();
  }
  outer->name = {whole.text.substr(0, point), whole.range};
  ast::Expr* inner = make(ExprKind::kMember, outer->range);
  inner->operands = {finish(outer)};
  inner->name = {whole.text.substr(point + 1), whole.range};
  return finish(inner);
}

ast::Expr* OperandParser::index(ast::Expr* object) {
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
    if (at_range() && node->operands.size() == 1) {
      node->operands.push_back(finish(make(ExprKind::kInt, range())));  // `[..high]` starts at 0
      break;
    }
    node->operands.push_back(parts_.expressions.expression());
  } while (!in_panic() && accept(TokenKind::kComma));
  if (at_range() && !in_panic()) slice_end(*node);
  if (at(TokenKind::kColon) && !in_panic()) {
    error(range(), "a part is written with two points").help("write `[low..high]`");
  }
  if (!in_panic() && !accept(TokenKind::kRightBracket)) {
    error(range(), "expected `]` after the index, found {}", found()).note(open, "it is opened here");
  }
  if (node->operands.size() > 4) {
    slip(cursor_.since(open), "there are {} indices; arrays have at most three dimensions",
         node->operands.size() - 1)
        .help("arrays of arrays are indexed one by one: `a[i][j]`");
    node->operands.resize(4);
  }
  return finish(node);
}

bool OperandParser::at_range() const { return at(TokenKind::kDotDot) || at(TokenKind::kDotDotEqual); }

// `..high`, `..=high` or `..` after the first index.
void OperandParser::slice_end(ast::Expr& node) {
  if (node.operands.size() != 2) {
    error(range(), "only one dimension can be sliced")
        .help("write `a[low..high]`, or copy the elements in a loop");
    return;
  }
  node.kind = ExprKind::kSlice;
  node.inclusive = at(TokenKind::kDotDotEqual);
  advance();
  if (!at(TokenKind::kRightBracket) || node.inclusive)
    node.operands.push_back(parts_.expressions.expression());
}

ast::Expr* OperandParser::call(ast::Expr* callee) {
  ast::Expr* node = make(ExprKind::kCall, callee->range);
  node->operands = {callee};
  if (at(TokenKind::kLess)) {
    node->type_arguments = parts_.types.type_arguments();
    if (at(TokenKind::kDot) && kind(1) == TokenKind::kIdentifier && !in_panic()) {  // `Option<i64>.none`
      callee->type_arguments = std::move(node->type_arguments);
      return finish(callee);
    }
    if (!in_panic() && !at(TokenKind::kLeftParen)) {
      const SourceRange whole = cursor_.since(callee->range);
      slip(whole, "a type with arguments is no value")
          .help("make an object by calling it: `{}()`", cursor_.text_of(whole));
      return error_expr();
    }
  }
  if (!in_panic()) node->arguments = arguments();
  return finish(node);
}

std::vector<ast::Argument> OperandParser::arguments() {
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
    argument.value = parts_.expressions.expression();
    list.push_back(argument);
    if (in_panic()) return list;
    if (accept(TokenKind::kComma)) continue;
    if (at(TokenKind::kRightParen)) break;
    // A new line inside the list: the closing bracket is probably missing.
    Diagnostic& problem = error(range(), "expected `,` or `)` after the argument, found {}", found());
    problem.note(open, "the list is opened here");
    if (at(TokenKind::kLeftBrace)) problem.help("objects are made by a call, `Name(field: value)`");
    if (at(TokenKind::kIf)) problem.help("a choice is written `if condition {{ a }} else {{ b }}`");
    // In `f(7 // 2)` the bracket is part of a comment.
    const std::string_view rest = cursor_.rest_of_line(cursor_.previous().end);
    if (rest.starts_with("//") && rest.find(')') != std::string_view::npos)
      problem.help("`//` begins a comment; `/` between integers drops the fraction");
    return list;
  }
  if (!accept(TokenKind::kRightParen)) {
    error(range(), "expected `)` after the arguments, found {}", found())
        .note(open, "the list is opened here");
  }
  return list;
}

}  // namespace dhpvm::compiler
