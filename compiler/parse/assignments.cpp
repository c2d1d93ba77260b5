// SPDX-License-Identifier: Apache-2.0
#include "compiler/parse/assignments.h"

#include "base/spelling.h"
#include "compiler/parse/grammar_parts.h"

namespace dhpvm::compiler {

using ast::ExprKind;
using ast::StmtKind;

ast::Stmt* AssignmentParser::expression_statement() {
  // `--x;` would otherwise be parsed as a double negation.
  const bool step =
      (at(TokenKind::kMinus) || at(TokenKind::kPlus)) && kind(1) == kind() && cursor_.touches_next();
  if (step) {
    const std::string_view sign = text();
    slip(join(range(), range(1)), "there is no operator `{}{}`", sign, sign).help("write `x {}= 1;`", sign);
    advance();
    advance();
    parts_.expressions.expression();
    expect_semicolon("the statement");
    return error_stmt();
  }
  ast::Expr* expr = parts_.expressions.expression();
  if (in_panic()) return error_stmt();
  const bool annotation = expr->kind == ExprKind::kName && at(TokenKind::kColon);
  if (annotation) {
    const bool walrus = kind(1) == TokenKind::kEqual;
    slip(walrus ? join(range(), range(1)) : range(), "a variable is declared with `let` or `var`")
        .help("write `let {}{} = ...;`", expr->name.text, walrus ? "" : ": type");
    ast::Stmt* node = make(StmtKind::kVar, expr->range);
    node->name = expr->name;
    advance();
    if (!walrus) node->type = parts_.types.type();
    if (!in_panic() && accept(TokenKind::kEqual)) node->value = parts_.expressions.expression();
    if (node->value == nullptr && node->type == nullptr) node->value = error_expr();
    expect_semicolon("the declaration");
    return finish(node);
  }
  ast::BinaryOp op = ast::BinaryOp::kAdd;
  if (at(TokenKind::kEqual) || update_operator(op)) return assignment(expr);
  if (at(TokenKind::kComma) && !state_.in_arm &&
      (expr->kind == ExprKind::kName || expr->kind == ExprKind::kIndex)) {
    several_places(*expr);
    return error_stmt();
  }
  ast::Stmt* node = make(StmtKind::kExpr, expr->range);
  node->value = expr;
  const bool unknown_word = expr->kind == ExprKind::kName && starts_expression() && !token().first_on_line;
  if (unknown_word) {
    constexpr std::string_view kWords[] = {
#define X(name, text, ...) text,
        DHPVM_WORD_STATEMENTS(X)
#undef X
    };
    const std::string_view word = expr->name.text;
    auto& problem = error(expr->range, "`{}` begins no statement", word);
    if (const std::string_view near = nearest_name(word, kWords); !near.empty())
      problem.help("write `{}`", near);
    if (word == "print" || word == "echo") problem.help("write `print(...);`");
    const bool declares =
        at(TokenKind::kIdentifier) && kind(1) == TokenKind::kLeftParen;  // `Matrix m(2, 2);`
    if (declares && word != "print" && word != "echo")
      problem.help("a variable is declared with `let`: `let {} = {}(...);`", text(), word);
    return error_stmt();
  }
  // The block of a `catch` ends the statement, as that of an `if` does. So does a `try` block; the checker reports that
  // its error is lost.
  const bool ends_in_block = expr->kind == ExprKind::kCatch || expr->kind == ExprKind::kTryBlock;
  if (ends_in_block && !at(TokenKind::kSemicolon)) return finish(node);
  if (at(TokenKind::kRightBrace) && expr->kind != ExprKind::kCall && !state_.in_arm) {
    slip(cursor_.gap(), "expected `;` after the statement")
        .help("write `return {};` if this is the result of the function", cursor_.text_of(expr->range));
    return error_stmt();  // suppresses an error about the unused result
  }
  expect_semicolon("the statement");
  // The unknown text after it may change the meaning of the expression.
  return in_panic() ? error_stmt() : finish(node);
}

// `a, b = b, a;`, `x, err := f();`, at the comma.
void AssignmentParser::several_places(const ast::Expr& first) {
  const std::string_view name = cursor_.text_of(first.range);
  const std::string_view second = text(1);
  const bool declares = kind(2) == TokenKind::kColon && kind(3) == TokenKind::kEqual;
  Diagnostic& problem = error(range(), "an assignment has one place, or a tuple of them");
  if (second == "err") {
    problem.help("a function that can fail gives a `T!`: `let {} = f() catch err {{ ... }};`", name);
  } else if (second == "ok") {
    problem.help("what may be missing is null: `if let {} = m.get(key) {{ ... }}`", name);
  } else if (declares) {
    problem.help("write `let ({}, {}) = pair;`", name, second);
  } else {
    problem.help(
        "write `(a, b) = (b, a);`, where both are declared, and `let (a, b) = pair;` where they are not");
  }
}

ast::Stmt* AssignmentParser::assignment(ast::Expr* place) {
  ast::Stmt* node = make(StmtKind::kAssign, place->range);
  node->place = place;
  if (update_operator(node->binary)) node->kind = StmtKind::kUpdate;
  advance();
  node->value = parts_.expressions.expression();
  if (at(TokenKind::kEqual) && !in_panic()) {
    error(range(), "an assignment has no value, and cannot be assigned").help("write one statement for each");
  }
  expect_semicolon("the assignment");
  return finish(node);
}

bool AssignmentParser::update_operator(ast::BinaryOp& op) const {
  using ast::BinaryOp;
  switch (kind()) {
    case TokenKind::kPlusEqual: op = BinaryOp::kAdd; return true;
    case TokenKind::kMinusEqual: op = BinaryOp::kSub; return true;
    case TokenKind::kStarEqual: op = BinaryOp::kMul; return true;
    case TokenKind::kSlashEqual: op = BinaryOp::kDiv; return true;
    case TokenKind::kPercentEqual: op = BinaryOp::kRem; return true;
    case TokenKind::kAmpersandEqual: op = BinaryOp::kBitAnd; return true;
    case TokenKind::kPipeEqual: op = BinaryOp::kBitOr; return true;
    case TokenKind::kCaretEqual: op = BinaryOp::kBitXor; return true;
    case TokenKind::kShiftLeftEqual: op = BinaryOp::kShl; return true;
    case TokenKind::kShiftRightEqual: op = BinaryOp::kShr; return true;
    default: return false;
  }
}

}  // namespace dhpvm::compiler
