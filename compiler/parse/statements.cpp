// SPDX-License-Identifier: Apache-2.0
// Statements other than loops and `match`.
#include "base/spelling.h"
#include "compiler/parse/parser_impl.h"
#include "compiler/text/habits.h"

namespace dhpvm::compiler {

using ast::ExprKind;
using ast::StmtKind;

// ----------------------------------------------------------------------------------------------- blocks

ast::Stmt* Parser::block() {
  ast::Stmt* node = make(StmtKind::kBlock, range());
  const SourceRange open = range();
  if (!expect(TokenKind::kLeftBrace, "here")) return node;
  const bool outer_arrows = std::exchange(arrow_closures_, true);
  const bool outer_body = std::exchange(in_body_, true);
  block_contents(node, open);
  arrow_closures_ = outer_arrows;
  in_body_ = outer_body;
  return finish(node);
}

void Parser::block_contents(ast::Stmt* node, SourceRange open) {
  while (!at(TokenKind::kRightBrace) && !at(TokenKind::kEnd) && !declaration_at_margin()) {
    const std::uint32_t before = pos_;
    node->body.push_back(statement());
    if (panic_) synchronise_statement();
    if (pos_ == before && !at(TokenKind::kRightBrace) && !declaration_at_margin()) advance();
  }
  if (accept(TokenKind::kRightBrace)) return;
  // Functions that followed may have been read as statements.
  module_->is_complete = false;
  // Blame the brace, not the place where its absence shows, which may be far away.
  error(open, "this `{{` is not closed").note(range(), "{} is reached without its `}}`", found());
}

// The body of a loop or `if`: a block. A single statement in its place is reported, and taken.
ast::Stmt* Parser::body(std::string_view what) {
  if (at(TokenKind::kLeftBrace)) return block();
  if (panic_) return error_stmt();
  if (at(TokenKind::kColon) || at_word("then") || at_word("do")) {
    slip(range(), "the body of `{}` stands in braces, without `{}`", what, text()).help("write `{{ ... }}`");
    advance();
    if (at(TokenKind::kLeftBrace)) return block();
    if (token().first_on_line) return error_stmt();  // an indented block: its lines are read as statements
    return statement();
  }
  if (at(TokenKind::kSemicolon)) {
    slip(range(), "`{}` has no body", what).help("write `{{ }}` for an empty one");
    advance();
    return error_stmt();
  }
  const bool could_be_statement = starts_expression() || at(TokenKind::kReturn) || at(TokenKind::kBreak) ||
                                  at(TokenKind::kContinue) || at(TokenKind::kFor) || at(TokenKind::kWhile);
  if (!could_be_statement) {
    error(token().first_on_line ? gap() : range(), "expected `{{` before the body of `{}`", what);
    return error_stmt();
  }
  slip(gap(), "the body of `{}` needs braces", what).help("write `{{ ... }}` around it");
  return statement();
}

// ------------------------------------------------------------------------------------------- statements

ast::Stmt* Parser::statement() {
  const Level level(*this);
  if (!level.ok) return error_stmt();
  switch (kind()) {
    case TokenKind::kLeftBrace: return block();
    case TokenKind::kLet: return let();
    case TokenKind::kVar: {
      const SourceRange begin = range();
      advance();
      return variable(StmtKind::kVar, begin);
    }
    case TokenKind::kIf: return if_statement();
    case TokenKind::kWhile: return while_statement();
    case TokenKind::kFor: return for_statement();
    case TokenKind::kMatch: return match_statement();
    case TokenKind::kReturn: return return_statement();
    case TokenKind::kBreak: return jump(StmtKind::kBreak);
    case TokenKind::kContinue: return jump(StmtKind::kContinue);
    case TokenKind::kUse: return use();
    case TokenKind::kParallel:
    case TokenKind::kAt: return parallel();
    case TokenKind::kSemicolon:
      slip(range(), "there is no statement before this `;`").help("remove it");
      advance();
      return error_stmt();
    case TokenKind::kElse:
      error(range(), "`else` without its `if`")
          .help("`else` follows the `}}` of an `if`; in a `match` it is the last arm: `else => ...`");
      advance();
      if (at(TokenKind::kLeftBrace)) {
        panic_ = false;
        return block();
      }
      return error_stmt();
    case TokenKind::kFn:
      if (kind(1) != TokenKind::kIdentifier) return expression_statement();
      return misplaced_declaration();
    case TokenKind::kConst:
    case TokenKind::kClass:
    case TokenKind::kStruct:
    case TokenKind::kInterface:
    case TokenKind::kImport:
    case TokenKind::kExtern:
    case TokenKind::kIntrinsic: return misplaced_declaration();
    case TokenKind::kIdentifier: return statement_by_word();
    default: return expression_statement();
  }
}

// Words that begin statements elsewhere. Each is a fine name here, unless what follows rules that out.
ast::Stmt* Parser::statement_by_word() {
  const bool operand_next = starts_expression(1) && kind(1) != TokenKind::kLeftParen &&
                            kind(1) != TokenKind::kLeftBracket && kind(1) != TokenKind::kMinus &&
                            kind(1) != TokenKind::kBang && !token(1).first_on_line;
  const bool block_next = kind(1) == TokenKind::kLeftBrace;
  if (at_word("switch") || at_word("when")) {
    if (kind(1) == TokenKind::kLeftParen || operand_next) {
      error(range(), "there is no `{}`", text()).help("write `match value {{ 1, 2 => f(); else => g(); }}`");
      return error_stmt();
    }
  }
  if (block_next && (at_word("loop") || at_word("do") || at_word("try") || at_word("unsafe"))) {
    auto& problem = slip(range(), "there is no `{}`", text());
    if (at_word("loop")) problem.help("write `while true {{ ... }}`");
    if (at_word("do")) problem.help("write `while true {{ ... if !condition {{ break; }} }}`");
    if (at_word("try")) problem.help("there are no exceptions: a trap ends the program; test beforehand");
    const bool is_do = at_word("do");
    ast::Stmt* contents = nullptr;
    if (is_do || at_word("loop")) {
      contents = make(StmtKind::kWhile, range());
      contents->value = make(ExprKind::kBool, range());
      contents->value->integer = 1;
      advance();
      contents->body = {block()};
      finish(contents);
    } else {
      advance();
      contents = block();
    }
    while (!panic_ && (at_word("catch") || at_word("except") || at_word("finally"))) {
      if (recover_to_brace()) block();  // said already
    }
    if (is_do && at(TokenKind::kWhile) && !panic_) {
      // The `while (c);` that ends it.
      advance();
      condition("while");
      accept(TokenKind::kSemicolon);
    }
    return contents;
  }
  if (operand_next && (at_word("throw") || at_word("raise"))) {
    error(range(), "there are no exceptions").help("write `trap(\"message\");` to end the program");
    return error_stmt();
  }
  if (const std::string_view advice = statement_for_foreign(text()); operand_next && !advice.empty()) {
    error(range(), "there is no `{}`", text()).help("{}", advice);
    return error_stmt();
  }
  const bool elif = at_word("elif") || at_word("elsif") || at_word("elseif");
  if (elif && starts_expression(1)) {
    error(range(), "`{}` without its `if`", text()).help("`else if` follows the `}}` of an `if`");
    return error_stmt();
  }
  // `def f(...)` inside a function.
  if (is_function_word(text()) && kind(1) == TokenKind::kIdentifier && !token(1).first_on_line) {
    return misplaced_declaration();
  }
  // `int x = 1;`, `auto x = 1;`, `List<i64> xs = ...;`
  const bool output = at_word("print") || at_word("echo");  // `print x;`
  const std::uint32_t name = output ? kNoType : end_of_type(pos_);
  if (name != kNoType && stream_.tokens[name].kind == TokenKind::kIdentifier &&
      !stream_.tokens[name].first_on_line) {
    const TokenKind after = stream_.tokens[name + 1].kind;
    const bool declares =
        after == TokenKind::kEqual || after == TokenKind::kSemicolon || after == TokenKind::kColon;
    if (declares) return foreign_declaration(name);
    // `int a[10];`
    if (after == TokenKind::kLeftBracket && stream_.tokens[name - 1].end != stream_.tokens[name].begin) {
      const Token& named = stream_.tokens[name];
      const std::string_view type = type_for_foreign(text());
      error(join(range(), {file_, named.begin, named.end}), "an array is made by a call")
          .help("write `let {} = [{}](n);` for n elements",
                source_.substr(named.begin, named.end - named.begin), type.empty() ? text() : type);
      return error_stmt();
    }
  }
  return expression_statement();
}

ast::Stmt* Parser::foreign_declaration(std::uint32_t name_index) {
  const SourceRange begin = range();
  const std::string_view meant = variable_word(text());
  const Token& name_token = stream_.tokens[name_index];
  const std::string_view name = source_.substr(name_token.begin, name_token.end - name_token.begin);
  const bool has_value = stream_.tokens[name_index + 1].kind != TokenKind::kSemicolon;
  const std::uint32_t type_end = stream_.tokens[name_index - 1].end;
  std::string_view type_text = source_.substr(begin.begin, type_end - begin.begin);
  const std::string_view translated = type_for_foreign(type_text);

  auto& problem = slip({file_, begin.begin, name_token.end}, "a variable is declared with `let` or `var`");
  if (!translated.empty()) type_text = translated;
  if (!meant.empty()) {
    problem.help("write `{} {}{}`", meant, name, has_value ? " = ..." : ": type = ...");
  } else if (has_value) {
    problem.help("write `let {} = ...;`, or `var {}: {} = ...;` if it changes", name, name, type_text);
  } else {
    problem.help("write `var {}: {};`", name, type_text);
  }
  // A type of another language is unknown here, which need not be said as well.
  ast::Type* known_type = meant.empty() && translated.empty() ? type() : error_type();
  while (pos_ < name_index) advance();
  return variable(StmtKind::kVar, begin, has_value ? nullptr : known_type);
}

ast::Stmt* Parser::misplaced_declaration() {
  const SourceRange begin = range();
  const std::string_view word = text();
  const bool is_function = at(TokenKind::kFn) || is_function_word(word);
  if (is_function) {
    slip(range(), "functions are declared at the top level of a file, or in a type")
        .help("write `let {} = fn(...) {{ ... }};` for a function inside a function", text(1));
    // Read it as what it is, so that its body is looked at too, and leave its name behind.
    ast::Stmt* node = make(StmtKind::kLet, begin);
    node->name = function(Body::kRequired)->name;
    node->value = error_expr();
    return node->name.empty() ? error_stmt() : finish(node);
  }
  if (at(TokenKind::kConst)) {
    slip(begin, "`const` stands at the top level of a file only")
        .help("write `let` for a value that does not change");
    advance();
    return variable(StmtKind::kLet, begin);
  }
  auto& problem = error(begin, "`{}` stands at the top level of a file only", word);
  if (at(TokenKind::kImport)) problem.help("move it to the top of the file");
  advance();
  return error_stmt();
}

ast::Stmt* Parser::let() {
  const SourceRange begin = range();
  advance();
  if (at_word("mut") && kind(1) == TokenKind::kIdentifier) {
    slip(join(begin, range()), "there is no `let mut`").help("write `var {}`", text(1));
    advance();
    return variable(StmtKind::kVar, begin);
  }
  return variable(StmtKind::kLet, begin);
}

// After `let` or `var`. `known_type` was read already, or is null.
ast::Stmt* Parser::variable(StmtKind kind_of_variable, SourceRange begin, ast::Type* known_type) {
  ast::Stmt* node = make(kind_of_variable, begin);
  node->type = known_type;
  const std::string_view word = kind_of_variable == StmtKind::kLet ? "let" : "var";
  if (at(TokenKind::kLeftParen) || at(TokenKind::kLeftBracket)) {
    error(range(), "a `{}` declares one variable", word)
        .help("take the parts one by one: `{} a = pair.first;`", word);
    return error_stmt();
  }
  node->name = expect_name("the name of a variable");
  if (at(TokenKind::kComma) && !panic_) {
    error(range(), "a `{}` declares one variable", word)
        .help("write a statement for each; a function that gives several values gives a struct of them");
    return error_stmt();
  }
  const bool walrus = at(TokenKind::kColon) && kind(1) == TokenKind::kEqual;
  if (walrus) {
    slip(join(range(), range(1)), "there is no operator `:=`").help("write `=`");
    advance();
  } else if (!panic_ && accept(TokenKind::kColon)) {
    node->type = type();
  } else if (!panic_ && type_without_colon()) {
    slip(gap(), "expected `:` before the type").help("write `{} {}: {}`", word, node->name.text, text());
    node->type = type();
  }
  if (!panic_ && at(TokenKind::kEqualEqual)) {
    slip(range(), "`==` compares").help("write `=`");
    advance();
    node->value = expression();
  } else if (!panic_ && accept(TokenKind::kEqual)) {
    node->value = expression();
  } else if (!panic_ && kind_of_variable == StmtKind::kLet) {
    slip(node->name.range, "a `let` needs its value at once")
        .help("write `let {} = ...;`, or `var {}: type;` and assign later", node->name.text, node->name.text);
  } else if (!panic_ && node->type == nullptr) {
    slip(node->name.range, "a `var` needs a type or a value")
        .help("write `var {}: i64;` or `var {} = 0;`", node->name.text, node->name.text);
  }
  // What follows relies on one of the two.
  const bool lacks_value =
      node->value == nullptr && (kind_of_variable == StmtKind::kLet || node->type == nullptr);
  if (lacks_value || (panic_ && node->value == nullptr)) node->value = error_expr();
  expect_semicolon("the declaration");
  return finish(node);
}

ast::Stmt* Parser::if_statement() {
  const Level level(*this);
  if (!level.ok) return error_stmt();
  ast::Stmt* node = make(StmtKind::kIf, range());
  advance();
  node->value = condition("if");
  if (panic_ && !recover_to_brace()) return error_stmt();
  node->body = {body("if")};
  const bool elif = (at_word("elif") || at_word("elsif") || at_word("elseif")) && starts_expression(1);
  if (elif && !panic_) {
    slip(range(), "there is no `{}`", text()).help("write `else if`");
    node->otherwise = if_statement();
  } else if (!panic_ && at(TokenKind::kElse) && kind(1) != TokenKind::kFatArrow) {
    // `else =>` is the last arm of the match around this `if`.
    advance();
    node->otherwise = at(TokenKind::kIf) ? if_statement() : body("else");
  }
  return finish(node);
}

ast::Stmt* Parser::while_statement() {
  ast::Stmt* node = make(StmtKind::kWhile, range());
  advance();
  node->value = condition("while");
  if (panic_ && !recover_to_brace()) return error_stmt();
  node->body = {body("while")};
  return finish(node);
}

ast::Stmt* Parser::return_statement() {
  ast::Stmt* node = make(StmtKind::kReturn, range());
  advance();
  const bool bare = at(TokenKind::kSemicolon) || at(TokenKind::kRightBrace) || at(TokenKind::kEnd) ||
                    (token().first_on_line && !starts_expression());
  if (!bare) node->value = expression();
  expect_semicolon(bare ? "`return`" : "the value");
  return finish(node);
}

ast::Stmt* Parser::jump(StmtKind which) {
  ast::Stmt* node = make(which, range());
  advance();
  if (at(TokenKind::kIdentifier) && !token().first_on_line) {
    slip(range(), "loops have no labels").help("put the loops into a function and `return` from it");
    advance();
  }
  expect_semicolon(which == StmtKind::kBreak ? "`break`" : "`continue`");
  return finish(node);
}

ast::Stmt* Parser::use() {
  ast::Stmt* node = make(StmtKind::kUse, range());
  advance();
  node->name = expect_name("the name of a variable");
  if (!panic_ && !accept(TokenKind::kEqual)) {
    error(range(), "expected `=` after the name, found {}", found())
        .help(
            "write `use file = io.open(path, \"r\");`; modules are imported with `import` at the top of the "
            "file");
  }
  node->value = panic_ ? error_expr() : expression();
  expect_semicolon("the declaration");
  return finish(node);
}

// -------------------------------------------------------------------------- expressions and assignments

bool Parser::update_operator(ast::BinaryOp& op) const {
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

ast::Stmt* Parser::expression_statement() {
  // `--x;` would otherwise be read as a negation of a negation.
  const bool step = (at(TokenKind::kMinus) || at(TokenKind::kPlus)) && kind(1) == kind() && touches_next();
  if (step) {
    const std::string_view sign = text();
    slip(join(range(), range(1)), "there is no operator `{}{}`", sign, sign).help("write `x {}= 1;`", sign);
    advance();
    advance();
    expression();
    expect_semicolon("the statement");
    return error_stmt();
  }
  ast::Expr* expr = expression();
  if (panic_) return error_stmt();
  const bool annotation = expr->kind == ExprKind::kName && at(TokenKind::kColon);
  if (annotation) {
    const bool walrus = kind(1) == TokenKind::kEqual;
    slip(walrus ? join(range(), range(1)) : range(), "a variable is declared with `let` or `var`")
        .help("write `let {}{} = ...;`", expr->name.text, walrus ? "" : ": type");
    ast::Stmt* node = make(StmtKind::kVar, expr->range);
    node->name = expr->name;
    advance();
    if (!walrus) node->type = type();
    if (!panic_ && accept(TokenKind::kEqual)) node->value = expression();
    if (node->value == nullptr && node->type == nullptr) node->value = error_expr();
    expect_semicolon("the declaration");
    return finish(node);
  }
  ast::BinaryOp op = ast::BinaryOp::kAdd;
  if (at(TokenKind::kEqual) || update_operator(op)) return assignment(expr);
  if (at(TokenKind::kComma) && (expr->kind == ExprKind::kName || expr->kind == ExprKind::kIndex)) {
    error(range(), "an assignment has one place")
        .help("to swap two: `let t = a; a = b; b = t;`; otherwise write a statement for each");
    return error_stmt();
  }
  ast::Stmt* node = make(StmtKind::kExpr, expr->range);
  node->value = expr;
  const bool unknown_word = expr->kind == ExprKind::kName && starts_expression() && !token().first_on_line;
  if (unknown_word) {
    constexpr std::string_view kWords[] = {"return", "break", "continue", "let",
                                           "var",    "while", "match",    "use"};
    const std::string_view word = expr->name.text;
    auto& problem = error(expr->range, "`{}` begins no statement", word);
    if (const std::string_view near = nearest_name(word, kWords); !near.empty())
      problem.help("write `{}`", near);
    if (word == "print" || word == "echo") problem.help("write `print(...);`");
    return error_stmt();
  }
  if (at(TokenKind::kRightBrace) && expr->kind != ExprKind::kCall) {
    slip(gap(), "expected `;` after the statement")
        .help("write `return {};` if this is the result of the function",
              source_.substr(expr->range.begin, expr->range.end - expr->range.begin));
    return finish(node);
  }
  expect_semicolon("the statement");
  // With something unknown behind it, the expression need not mean what it seems to.
  return panic_ ? error_stmt() : finish(node);
}

ast::Stmt* Parser::assignment(ast::Expr* place) {
  ast::Stmt* node = make(StmtKind::kAssign, place->range);
  node->place = place;
  if (update_operator(node->binary)) node->kind = StmtKind::kUpdate;
  advance();
  node->value = expression();
  if (at(TokenKind::kEqual) && !panic_) {
    error(range(), "an assignment has no value, and cannot be assigned").help("write one statement for each");
  }
  expect_semicolon("the assignment");
  return finish(node);
}

}  // namespace dhpvm::compiler
