// SPDX-License-Identifier: Apache-2.0
#include "compiler/parse/variables.h"

#include "compiler/parse/grammar_parts.h"
#include "compiler/text/habits.h"

namespace dhpvm::compiler {

using ast::StmtKind;

ast::Stmt* VariableParser::let() {
  const SourceRange begin = range();
  advance();
  if (at_word("mut") && kind(1) == TokenKind::kIdentifier) {
    slip(join(begin, range()), "there is no `let mut`").help("write `var {}`", text(1));
    advance();
    return variable(StmtKind::kVar, begin);
  }
  return variable(StmtKind::kLet, begin);
}

// After `let` or `var`. `known_type` has been parsed already, or is null.
ast::Stmt* VariableParser::variable(StmtKind kind_of_variable, SourceRange begin, ast::Type* known_type) {
  ast::Stmt* node = make(kind_of_variable, begin);
  node->type = known_type;
  const std::string_view word = kind_of_variable == StmtKind::kLet ? "let" : "var";
  const bool takes_apart = foreign_pattern(word, *node);
  if (takes_apart) {
    node->name.range = node->patterns[0].range;
  } else if (at(TokenKind::kLeftParen)) {
    node->patterns.push_back(parts_.matches.tuple_pattern());
    node->name.range = node->patterns[0].range;
  } else {
    node->name = expect_name("the name of a variable");
  }
  if (at(TokenKind::kComma) && !in_panic()) {
    error(range(), "a `{}` declares one variable", word)
        .help("write a statement for each; `{} (a, b) = pair;` takes a tuple apart", word);
    return error_stmt();
  }
  const bool walrus = at(TokenKind::kColon) && kind(1) == TokenKind::kEqual;
  if (walrus) {
    slip(join(range(), range(1)), "there is no operator `:=`").help("write `=`");
    advance();
  } else if (!in_panic() && accept(TokenKind::kColon)) {
    node->type = parts_.types.type();
  } else if (!in_panic() && parts_.types.type_without_colon()) {
    slip(cursor_.gap(), "expected `:` before the type")
        .help("write `{} {}: {}`", word, node->name.text, text());
    node->type = parts_.types.type();
  }
  if (!in_panic() && at(TokenKind::kEqualEqual)) {
    slip(range(), "`==` compares").help("write `=`");
    advance();
    node->value = parts_.expressions.expression();
  } else if (!in_panic() && accept(TokenKind::kEqual)) {
    node->value = parts_.expressions.expression();
    if (at(TokenKind::kElse) && !in_panic()) {
      error(range(), "a declaration has no `else`")
          .help("write `{} x = value ?? return;` where it is null", word);
      return error_stmt();
    }
  } else if (!in_panic() && kind_of_variable == StmtKind::kLet) {
    slip(node->name.range, "a `let` needs its value at once")
        .help("write `let {} = ...;`, or `var {}: type;` and assign later", node->name.text, node->name.text);
  } else if (!in_panic() && node->type == nullptr) {
    without_type(*node);
  }
  // Later steps require one of the two.
  const bool lacks_value =
      node->value == nullptr && (kind_of_variable == StmtKind::kLet || node->type == nullptr);
  if (lacks_value || (in_panic() && node->value == nullptr)) node->value = error_expr();
  expect_semicolon("the declaration");
  // `let p = P { x: 1 };`: the value is not the name.
  if ((in_panic() && at(TokenKind::kLeftBrace)) || takes_apart) node->value = error_expr();
  return finish(node);
}

// `var x;`, `var xs []T;`
void VariableParser::without_type(ast::Stmt& node) {
  auto& problem = slip(node.name.range, "a `var` needs a type or a value");
  const bool array =
      at(TokenKind::kLeftBracket) && kind(1) == TokenKind::kRightBracket && kind(2) == TokenKind::kIdentifier;
  if (!array) {
    problem.help("write `var {}: i64;` or `var {} = 0;`", node.name.text, node.name.text);
    return;
  }
  const std::string_view type = type_for_foreign(text(2));
  problem.help("write `var {}: [{}];`, or `let {} = List<{}>();` for one that grows", node.name.text,
               type.empty() ? text(2) : type, node.name.text, type.empty() ? text(2) : type);
  for (int i = 0; i < 3; ++i) advance();
  node.value = error_expr();
}

// `let [a, b] = pair;`, `let {x, y} = p;`, `let State(cost, node) = s;`: false for all others. Declares the names, so
// that their uses are not reported.
bool VariableParser::foreign_pattern(std::string_view word, ast::Stmt& node) {
  const bool of_struct = at(TokenKind::kIdentifier) && kind(1) == TokenKind::kLeftParen;
  const std::uint32_t close = state_.layout.partner(cursor_.position() + (of_struct ? 1 : 0));
  if ((!of_struct && !at(TokenKind::kLeftBracket) && !at(TokenKind::kLeftBrace)) || close == 0) return false;
  if (of_struct) {
    slip(range(), "a `{}` takes only tuples apart", word)
        .help("write `{} x = ...;` and use `x.field`; `if {} {}(...) = x` tests for a case of an enum", word,
              word, text());
    advance();
  } else {
    Diagnostic& problem = slip(range(), "a `{}` declares one variable, or those of a tuple", word);
    if (at(TokenKind::kLeftBrace)) {
      problem.help("write `{} p = ...;`, and use its fields, `p.x`", word);
    } else {
      problem.help("write `{} (a, b) = pair;`, or take elements one by one: `{} a = xs[0];`", word, word);
    }
  }
  ast::Pattern names;
  names.kind = ast::PatternKind::kTuple;
  names.range = range();
  for (; cursor_.position() < close; advance()) {
    if (!at(TokenKind::kIdentifier)) continue;
    ast::Pattern name;
    name.kind = ast::PatternKind::kName;
    name.range = range();
    name.part = true;
    name.type = make(ast::TypeKind::kNamed, range());
    name.type->name = {text(), range()};
    names.parts.push_back(std::move(name));
  }
  advance();
  node.patterns.push_back(std::move(names));
  return true;
}

ast::Stmt* VariableParser::use() {
  ast::Stmt* node = make(StmtKind::kUse, range());
  advance();
  node->name = expect_name("the name of a variable");
  if (!in_panic() && !accept(TokenKind::kEqual)) {
    error(range(), "expected `=` after the name, found {}", found())
        .help(
            "write `use file = try io.open(path, \"r\");`; modules are imported with `import` at the top of "
            "the "
            "file");
  }
  node->value = in_panic() ? error_expr() : parts_.expressions.expression();
  expect_semicolon("the declaration");
  return finish(node);
}

}  // namespace dhpvm::compiler
