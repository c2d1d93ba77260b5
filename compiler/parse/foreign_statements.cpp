// SPDX-License-Identifier: Apache-2.0
#include "compiler/parse/foreign_statements.h"

#include "compiler/parse/grammar_parts.h"
#include "compiler/text/habits.h"

namespace dhpvm::compiler {

using ast::ExprKind;
using ast::StmtKind;

// Words that begin statements in other languages. Each is a valid name here, unless the next token rules that out.
ast::Stmt* ForeignStatements::statement() {
  const bool operand_next = starts_expression(1) && kind(1) != TokenKind::kLeftParen &&
                            kind(1) != TokenKind::kLeftBracket && kind(1) != TokenKind::kMinus &&
                            kind(1) != TokenKind::kBang && !token(1).first_on_line;
  const bool block_next = kind(1) == TokenKind::kLeftBrace;
  if (at_word("std") && kind(1) == TokenKind::kColon && kind(2) == TokenKind::kColon) return of_std();
  // `foreach (x in xs) { ... }`
  const bool head_next = kind(1) == TokenKind::kLeftParen && !token(1).first_on_line &&
                         state_.layout.behind_group(cursor_.position() + 1) == TokenKind::kLeftBrace;
  if (at_word("switch") || at_word("when")) {
    if (head_next || operand_next) {
      error(range(), "there is no `{}`", text()).help("write `match value {{ 1, 2 => f(); else => g(); }}`");
      return error_stmt();
    }
  }
  const bool foreign_block = at_word("loop") || at_word("do") || at_word("unsafe");
  if (block_next && foreign_block) return block();
  if (operand_next && (at_word("throw") || at_word("raise"))) {
    error(range(), "there are no exceptions")
        .help("write `return Error(\"message\");` in a function that gives a `T!`, or `trap(\"message\");`");
    return error_stmt();
  }
  const bool negated =
      kind(1) == TokenKind::kBang && kind(2) == TokenKind::kIdentifier && !token(1).first_on_line;
  const bool declares = kind(1) == TokenKind::kLet || kind(1) == TokenKind::kVar;
  if (at_word("guard") && (declares || negated || operand_next)) return guard();
  // Alone on its line, and the next line, unlike `.push(1);`, cannot continue an expression that starts with this name.
  const bool statement_ends = kind(1) == TokenKind::kRightBrace || kind(1) == TokenKind::kEnd ||
                              kind(1) == TokenKind::kIdentifier || is_keyword(kind(1));
  const bool end_of_block = at_word("end") && token().first_on_line && statement_ends &&
                            (token(1).first_on_line || kind(1) == TokenKind::kEnd);
  const std::string_view advice = statement_for_foreign(text());
  if ((operand_next || head_next) && !advice.empty()) {
    error(range(), "there is no `{}`", text()).help("{}", advice);
    return error_stmt();
  }
  if (end_of_block) {
    slip(range(), "there is no `end`").help("{}", advice);
    advance();
    return error_stmt();
  }
  const bool elif = at_word("elif") || at_word("elsif") || at_word("elseif");
  if (elif && starts_expression(1)) {
    error(range(), "`{}` without its `if`", text()).help("`else if` follows the `}}` of an `if`");
    return error_stmt();
  }
  // `def f(...)` inside a function.
  if (is_function_word(text()) && kind(1) == TokenKind::kIdentifier && !token(1).first_on_line) {
    return parts_.statements.misplaced_declaration();
  }
  if (ast::Stmt* const declaration = declaration_or_array(); declaration != nullptr) return declaration;
  return parts_.assignments.expression_statement();
}

// `std::string s;`, `std::swap(a, b);`
ast::Stmt* ForeignStatements::of_std() {
  const std::string_view name = kind(3) == TokenKind::kIdentifier ? text(3) : std::string_view();
  const std::string_view type = type_for_foreign(name);
  auto& problem = error(join(range(), range(2)), "there is no `std::`");
  if (!type.empty()) {
    problem.help("write `let x = ...;`; the type is called `{}` here", type);
  } else if (const std::string_view advice = advice_for_foreign(name); !advice.empty()) {
    problem.help("{}", advice);
  } else {
    problem.help("write `import name;` at the top, and `name.function(...)`");
  }
  return error_stmt();
}

// `guard let x = e else { return; }` and `guard condition else { return; }`.
ast::Stmt* ForeignStatements::guard() {
  auto& problem = error(range(), "there is no `guard`");
  const bool declares = kind(1) == TokenKind::kLet || kind(1) == TokenKind::kVar;
  if (!declares) {
    problem.help("write `if !condition {{ return; }}`");
  } else {
    const std::string_view name = kind(2) == TokenKind::kIdentifier ? cursor_.text_of(token(2)) : "x";
    problem.help("write `let {} = value ?? return;`, where the function returns if the value is null", name);
  }
  return error_stmt();
}

// `loop`, `do` and `unsafe`, each with a block.
ast::Stmt* ForeignStatements::block() {
  auto& problem = slip(range(), "there is no `{}`", text());
  if (at_word("loop")) problem.help("write `while true {{ ... }}`");
  if (at_word("do")) problem.help("write `while true {{ ... if !condition {{ break; }} }}`");
  const bool is_do = at_word("do");
  ast::Stmt* contents = nullptr;
  if (is_do || at_word("loop")) {
    contents = make(StmtKind::kWhile, range());
    contents->value = make(ExprKind::kBool, range());
    contents->value->integer = 1;
    advance();
    contents->body = {parts_.statements.block()};
    finish(contents);
  } else {
    advance();
    contents = parts_.statements.block();
  }
  if (is_do && at(TokenKind::kWhile) && !in_panic()) {
    // The `while (c);` that ends it.
    advance();
    parts_.expressions.condition("while");
    accept(TokenKind::kSemicolon);
  }
  return contents;
}

// `int x = 1;`, `auto x = 1;`, `List<i64> xs = ...;`, `int a[10];`; null for all others.
ast::Stmt* ForeignStatements::declaration_or_array() {
  const bool output = at_word("print") || at_word("echo");  // `print x;`
  const std::uint32_t name = output ? TypeScan::kNoType : end_of_type();
  if (name == TypeScan::kNoType) return nullptr;
  const Token& named = cursor_.token_at(name);
  if (named.kind != TokenKind::kIdentifier || named.first_on_line) return nullptr;
  const TokenKind after = cursor_.token_at(name + 1).kind;
  const bool declares =
      after == TokenKind::kEqual || after == TokenKind::kSemicolon || after == TokenKind::kColon;
  if (declares) return declaration(name);
  const bool array = after == TokenKind::kLeftBracket && cursor_.token_at(name - 1).end != named.begin;
  if (!array) return nullptr;
  const std::string_view type = type_for_foreign(text());
  error(join(range(), cursor_.range_of(named)), "an array is made by a call")
      .help("write `let {} = [{}](n);` for n elements", cursor_.text_of(named), type.empty() ? text() : type);
  return error_stmt();
}

ast::Stmt* ForeignStatements::declaration(std::uint32_t name_index) {
  const SourceRange begin = range();
  const std::string_view meant = variable_word(text());
  const Token& name_token = cursor_.token_at(name_index);
  const std::string_view name = cursor_.text_of(name_token);
  const bool has_value = cursor_.token_at(name_index + 1).kind != TokenKind::kSemicolon;
  const SourceRange last_of_type = cursor_.range_of(cursor_.token_at(name_index - 1));
  std::string_view type_text = cursor_.text_of(join(begin, last_of_type));
  const std::string_view translated = type_for_foreign(type_text);

  auto& problem =
      slip(join(begin, cursor_.range_of(name_token)), "a variable is declared with `let` or `var`");
  if (!translated.empty()) type_text = translated;
  if (!meant.empty()) {
    problem.help("write `{} {}{}`", meant, name, has_value ? " = ..." : ": type = ...");
  } else if (has_value) {
    problem.help("write `let {} = ...;`, or `var {}: {} = ...;` if it changes", name, name, type_text);
  } else {
    problem.help("write `var {}: {};`", name, type_text);
  }
  // The type of another language is unknown here; reporting that would be redundant.
  ast::Type* known_type = meant.empty() && translated.empty() ? parts_.types.type() : error_type();
  while (cursor_.position() < name_index) advance();
  return parts_.variables.variable(StmtKind::kVar, begin, has_value ? nullptr : known_type);
}

}  // namespace dhpvm::compiler
