// SPDX-License-Identifier: Apache-2.0
#include "compiler/parse/statements.h"

#include "compiler/parse/grammar_parts.h"
#include "compiler/text/habits.h"

namespace dhpvm::compiler {

using ast::StmtKind;

ast::Stmt* StatementParser::block() {
  ast::Stmt* node = make(StmtKind::kBlock, range());
  const SourceRange open = range();
  if (!expect(TokenKind::kLeftBrace, "here")) return node;
  const bool outer_arrows = std::exchange(state_.arrow_closures, true);
  const bool outer_body = errors_.set_in_body(true);
  const bool outer_arm = std::exchange(state_.in_arm, false);
  block_contents(node, open);
  state_.in_arm = outer_arm;
  state_.arrow_closures = outer_arrows;
  errors_.set_in_body(outer_body);
  return finish(node);
}

void StatementParser::block_contents(ast::Stmt* node, SourceRange open) {
  while (!at(TokenKind::kRightBrace) && !at(TokenKind::kEnd) && !recovery_.at_margin_declaration()) {
    const std::uint32_t before = cursor_.position();
    node->body.push_back(statement());
    if (in_panic()) recovery_.skip_to_statement();
    if (cursor_.position() == before && !at(TokenKind::kRightBrace) && !recovery_.at_margin_declaration())
      advance();
  }
  if (accept(TokenKind::kRightBrace)) return;
  // Functions after it may have been parsed as statements.
  module_.is_complete = false;
  // Report the opening brace: the place where the closing one is missed may be far away.
  error(open, "this `{{` is not closed").note(range(), "{} is reached without its `}}`", found());
}

// The body of a loop or `if`: a block. A single statement in its place is reported, and parsed.
ast::Stmt* StatementParser::body(std::string_view what) {
  if (at(TokenKind::kLeftBrace)) return block();
  if (in_panic()) return error_stmt();
  if (at(TokenKind::kColon) || at_word("then") || at_word("do")) {
    slip(range(), "the body of `{}` stands in braces, without `{}`", what, text()).help("write `{{ ... }}`");
    advance();
    if (at(TokenKind::kLeftBrace)) return block();
    return token().first_on_line ? indented(cursor_.previous().begin) : statement();
  }
  if (at(TokenKind::kSemicolon)) {
    slip(range(), "`{}` has no body", what).help("write `{{ }}` for an empty one");
    advance();
    return error_stmt();
  }
  const bool could_be_statement = starts_expression() || begins_statement(kind());
  if (!could_be_statement) {
    error(token().first_on_line ? cursor_.gap() : range(), "expected `{{` before the body of `{}`", what);
    return error_stmt();
  }
  slip(cursor_.gap(), "the body of `{}` needs braces", what).help("write `{{ ... }}` around it");
  return statement();
}

// The lines after a head that ends at `head`, as far as they are indented more than it.
ast::Stmt* StatementParser::indented(std::uint32_t head) {
  ast::Stmt* node = make(StmtKind::kBlock, range());
  const std::uint32_t margin = cursor_.indentation(head);
  while (token().first_on_line && cursor_.indentation(token().begin) > margin && !at(TokenKind::kEnd) &&
         !at(TokenKind::kRightBrace)) {
    const std::uint32_t before = cursor_.position();
    node->body.push_back(statement());
    if (in_panic()) recovery_.skip_to_statement();
    if (cursor_.position() == before) advance();
  }
  return finish(node);
}

ast::Stmt* StatementParser::misplaced_declaration() {
  const SourceRange begin = range();
  const std::string_view word = text();
  const bool is_function = at(TokenKind::kFn) || is_function_word(word);
  if (is_function) {
    if (at(TokenKind::kFn)) {  // the message about another language's word is enough
      slip(range(), "functions are declared at the top level of a file, or in a type")
          .help("write `let {} = fn(...) {{ ... }};` for a function inside a function", text(1));
    }
    // Parsed as a function, so that errors in its body are reported; its name stays declared.
    ast::Stmt* node = make(StmtKind::kLet, begin);
    node->name = parts_.functions.function(FunctionBody::kRequired)->name;
    node->value = error_expr();
    return node->name.empty() ? error_stmt() : finish(node);
  }
  if (at(TokenKind::kConst)) {
    slip(begin, "`const` stands at the top level of a file only")
        .help("write `let` for a value that does not change");
    advance();
    return parts_.variables.variable(StmtKind::kLet, begin);
  }
  auto& problem = error(begin, "`{}` stands at the top level of a file only", word);
  problem.help("move it {}", at(TokenKind::kImport) ? "to the top of the file" : "out of the function");
  advance();
  return error_stmt();
}

template <>
ast::Stmt* StatementParser::parse<StmtKind::kIf>() {
  const Level level(*this);
  if (!level.ok) return error_stmt();
  if (kind(1) == TokenKind::kLet) return parts_.matches.if_let_statement();
  ast::Stmt* node = make(StmtKind::kIf, range());
  advance();
  node->value = parts_.expressions.condition("if");
  if (in_panic() && !recovery_.skip_to_brace()) return error_stmt();
  node->body = {body("if")};
  node->otherwise = otherwise();
  return finish(node);
}

// The `else` of an `if`, or null.
ast::Stmt* StatementParser::otherwise() {
  if (in_panic()) return nullptr;
  const bool elif = (at_word("elif") || at_word("elsif") || at_word("elseif")) && starts_expression(1);
  if (elif) {
    slip(range(), "there is no `{}`", text()).help("write `else if`");
  } else if (at(TokenKind::kElse) && kind(1) != TokenKind::kFatArrow) {
    // `else =>` is the last arm of the enclosing match.
    advance();
    if (!at(TokenKind::kIf)) return body("else");
  } else {
    return nullptr;
  }
  return parse<StmtKind::kIf>();
}

template <>
ast::Stmt* StatementParser::parse<StmtKind::kWhile>() {
  if (kind(1) == TokenKind::kLet) return parts_.matches.while_let_statement();
  ast::Stmt* node = make(StmtKind::kWhile, range());
  advance();
  node->value = parts_.expressions.condition("while");
  if (in_panic() && !recovery_.skip_to_brace()) return error_stmt();
  node->body = {body("while")};
  return finish(node);
}

template <>
ast::Stmt* StatementParser::parse<StmtKind::kReturn>() {
  ast::Stmt* node = make(StmtKind::kReturn, range());
  advance();
  const bool bare = at(TokenKind::kSemicolon) || at(TokenKind::kRightBrace) || at(TokenKind::kEnd) ||
                    (state_.in_arm && at(TokenKind::kComma)) ||
                    (token().first_on_line && !starts_expression());
  if (!bare) node->value = parts_.expressions.expression();
  if (at(TokenKind::kComma) && !in_panic() && !state_.in_arm)
    error(range(), "a `return` gives one value").help("give a tuple: `return (a, b);`");
  expect_semicolon(bare ? "`return`" : "the value");
  return finish(node);
}

ast::Stmt* StatementParser::jump(StmtKind which) {
  ast::Stmt* node = make(which, range());
  advance();
  if (at(TokenKind::kIdentifier) && !token().first_on_line) node->label = take_name();
  expect_semicolon(which == StmtKind::kBreak ? "`break`" : "`continue`");
  return finish(node);
}

// `outer: for ...`
ast::Stmt* StatementParser::labelled() {
  const ast::Name label = take_name();
  advance();
  ast::Stmt* loop = at(TokenKind::kFor) ? parts_.loops.for_statement() : parse<StmtKind::kWhile>();
  loop->label = label;
  return loop;
}

ast::Stmt* StatementParser::statement() {
  const Level level(*this);
  if (!level.ok) return error_stmt();
  switch (kind()) {
    case TokenKind::kLeftBrace: return block();
    case TokenKind::kLet: return parts_.variables.let();
    case TokenKind::kVar: {
      const SourceRange begin = range();
      advance();
      return parts_.variables.variable(StmtKind::kVar, begin);
    }
    case TokenKind::kIf: return parse<StmtKind::kIf>();
    case TokenKind::kWhile: return parse<StmtKind::kWhile>();
    case TokenKind::kFor: return parts_.loops.for_statement();
    case TokenKind::kMatch: return parts_.matches.match_statement();
    case TokenKind::kReturn: return parse<StmtKind::kReturn>();
    case TokenKind::kBreak: return jump(StmtKind::kBreak);
    case TokenKind::kContinue: return jump(StmtKind::kContinue);
    case TokenKind::kUse: return parts_.variables.use();
    case TokenKind::kTry: return parts_.assignments.expression_statement();
    case TokenKind::kCatch:
      error(range(), "`catch` without a value or `try` block before it")
          .help("write `f() catch err {{ ... }}`, or `try {{ ... }} catch err {{ ... }}`");
      advance();
      return error_stmt();
    case TokenKind::kParallel:
    case TokenKind::kAt: return parts_.parallel_loops.parallel();
    case TokenKind::kSemicolon:
      slip(range(), "there is no statement before this `;`").help("remove it");
      advance();
      return error_stmt();
    case TokenKind::kElse:
      error(range(), "`else` without its `if`")
          .help("`else` follows the `}}` of an `if`; in a `match` it is the last arm: `else => ...`");
      advance();
      if (at(TokenKind::kLeftBrace)) {
        errors_.end_panic();
        return block();
      }
      return error_stmt();
    case TokenKind::kFn:
      if (kind(1) != TokenKind::kIdentifier) return parts_.assignments.expression_statement();
      return misplaced_declaration();
    case TokenKind::kConst:
    case TokenKind::kClass:
    case TokenKind::kStruct:
    case TokenKind::kInterface:
    case TokenKind::kEnum:
    case TokenKind::kImport:
    case TokenKind::kExtern:
    case TokenKind::kIntrinsic: return misplaced_declaration();
    case TokenKind::kIdentifier: {
      if (cursor_.at_alias() && kind(2) == TokenKind::kEqual) return misplaced_declaration();
      const bool loop = kind(2) == TokenKind::kFor || kind(2) == TokenKind::kWhile;
      return kind(1) == TokenKind::kColon && loop ? labelled() : parts_.foreign_statements.statement();
    }
    default: return parts_.assignments.expression_statement();
  }
}

}  // namespace dhpvm::compiler
