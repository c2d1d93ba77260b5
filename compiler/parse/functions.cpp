// SPDX-License-Identifier: Apache-2.0
#include "compiler/parse/functions.h"

#include <algorithm>

#include "compiler/parse/grammar_parts.h"
#include "compiler/text/habits.h"

namespace dhpvm::compiler {

ast::Function* FunctionParser::native_function(ast::Linkage linkage) {
  const SourceRange begin = range();
  advance();
  std::string import_name;
  bool has_import_name = false;
  if (at(TokenKind::kString)) {
    has_import_name = true;
    import_name = state_.stream.strings[token().value];
    advance();
  }
  ast::Function& node = state_.tree.make_function(begin);
  node.linkage = linkage;
  if (!at(TokenKind::kFn)) {
    error(range(), "expected `fn`, found {}", found()).help("write `extern fn log(x: f64);`");
    return &node;
  }
  node.import_name = std::move(import_name);
  node.has_import_name = has_import_name;
  advance();
  node.name = expect_name("the name of a function");
  if (!in_panic()) signature(node);
  if (!in_panic() && (at(TokenKind::kLeftBrace) || at(TokenKind::kFatArrow))) {
    error(range(), "a function that is provided natively has no body").help("write `;`, or remove `extern`");
  }
  expect_semicolon("the declaration");
  node.range = cursor_.since(node.range);
  return &node;
}

ast::Function* FunctionParser::function(FunctionBody expected) {
  ast::Function& node = state_.tree.make_function(range());
  const bool foreign = !at(TokenKind::kFn);
  if (foreign) {
    foreign_head(node);
  } else {
    advance();
  }
  return function_after_word(node, expected);
}

// At the `def` of `def half(x, y=1):`, `func half(x float64) float64 {`: one message for the whole head. Its parameters
// are declared, so that their uses are not reported.
void FunctionParser::foreign_head(ast::Function& node) {
  const SourceRange word = range();
  advance();
  node.name = expect_name("the name of a function");
  const std::uint32_t close = state_.layout.partner(cursor_.position());
  std::string shown = fmt::format("fn {}", node.name.text);
  if (at(TokenKind::kLeftParen) && close != 0) {
    foreign_parameters(node, close);
    for (const ast::Parameter& parameter : node.parameters)
      shown +=
          fmt::format("{}{}: type", &parameter == node.parameters.data() ? "(" : ", ", parameter.name.text);
    if (!node.parameters.empty()) shown += ") -> type { ... }";
    node.result = error_type();
  }
  Diagnostic& problem = slip(word, "functions are declared with `fn`");
  problem.help("write `{}`", shown);
  while (!at(TokenKind::kLeftBrace) && !at(TokenKind::kFatArrow) && !at(TokenKind::kColon) &&
         !at(TokenKind::kSemicolon) && !at(TokenKind::kEnd) && !token().first_on_line)
    advance();
  if (at(TokenKind::kColon) && cursor_.rest_of_line(token().begin) != ":") {  // `: i64 {`
    while (!at(TokenKind::kLeftBrace) && !token(1).first_on_line && !at(TokenKind::kEnd)) advance();
  }
  if (at(TokenKind::kLeftBrace) || at(TokenKind::kFatArrow) || at(TokenKind::kSemicolon)) return;
  if (at(TokenKind::kColon)) advance();
  node.body = parts_.statements.indented(word.begin);
  if (at_word("end")) advance();
}

void FunctionParser::foreign_parameters(ast::Function& node, std::uint32_t close) {
  advance();
  while (cursor_.position() < close) {
    ast::Parameter parameter;
    parameter.range = range();
    parameter.type = error_type();
    // `x`, `x: T`, `x T` or `T x`
    const std::uint32_t ahead =
        kind(1) == TokenKind::kIdentifier && !parts_.types.is_type_word(token(1)) ? 1 : 0;
    parameter.name = {text(ahead), range(ahead)};
    const bool named = kind(ahead) == TokenKind::kIdentifier;
    for (bool at_end = false; cursor_.position() < close && !at_end; advance()) {
      if (at(TokenKind::kEqual)) parameter.fallback = error_expr();
      at_end = at(TokenKind::kComma);
      if (const std::uint32_t partner = state_.layout.partner(cursor_.position()); partner != 0)
        cursor_.jump_to(partner);
    }
    if (named && parameter.name.text != "self") node.parameters.push_back(parameter);
  }
  advance();
}

ast::Function* FunctionParser::function_after_word(ast::Function& node, FunctionBody expected) {
  const bool foreign = !node.name.empty();
  if (!foreign && at(TokenKind::kLeftParen) && !in_panic()) {
    error(range(), "expected the name of a function, found {}", found())
        .help("methods stand in the braces of their type, and their object is `this`");
  }
  if (!foreign && !in_panic()) node.name = expect_name("the name of a function");
  // Without `self` the name is an ordinary one.
  const bool receiver = at(TokenKind::kLeftParen) &&
                        (kind(1) == TokenKind::kThis || (at_word("self", 1) && kind(2) != TokenKind::kColon));
  const std::string_view here = foreign || receiver ? method_for_foreign(node.name.text) : "";
  if (!here.empty()) {
    const bool constructor = here == "init";
    slip(node.name.range, "the language calls no method `{}`", node.name.text)
        .help("{}", constructor ? "write `init(...) { this.x = x; }`, without `fn`"
                                : fmt::format("write `{}`", here));
  }
  if (!foreign && !in_panic()) signature(node);
  if (!in_panic() && node.body == nullptr) function_body(node, expected);
  if (in_panic() && recovery_.skip_to_brace()) {
    // The head is wrong; the body may contain more errors.
    node.body = parts_.statements.block();
  }
  node.range = cursor_.since(node.range);
  if ((!node.has_body() && expected == FunctionBody::kRequired) ||
      TreeBuilder::height(node) > ast::kMaxDepth) {
    node.expression = nullptr;
    node.body = make(ast::StmtKind::kBlock, cursor_.gap());
    node.body->body = {error_stmt()};
  }
  return &node;
}

// From the type parameters to the result type.
void FunctionParser::signature(ast::Function& node) {
  node.type_parameters = parts_.types.type_parameters();
  if (in_panic()) return;
  if (!at(TokenKind::kLeftParen)) {
    auto& problem = error(range(), "expected `(` after the function's name, found {}", found());
    if (at(TokenKind::kDot)) {
      problem.help("methods stand in the braces of their type; for others write `fn name(x: {})`",
                   node.name.text);
    } else if (node.name.text == "operator") {
      problem.help("operators are those of the language: write a method, `fn plus(other: T) -> T`");
    } else {
      problem.help("write `fn {}() {{ ... }}`", node.name.text);
    }
    return;
  }
  advance();
  node.parameters = parameters(ParameterTypes::kRequired);
  if (!in_panic()) result_type(node);
}

void FunctionParser::result_type(ast::Function& node) {
  if (at(TokenKind::kArrow)) {
    advance();
    const bool foreign = at_word("void") || at_word("Unit") || at_word("None");
    if (foreign && kind(1) != TokenKind::kBang) {
      slip(range(), "there is no type `{}`", text())
          .help("leave `-> {}` out: the function gives nothing", text());
      advance();
      return;
    }
    node.result = parts_.types.type();
    return;
  }
  // `: T` and a bare `T`. A `(` or `[` could begin other constructs; those are left to the next error.
  const bool colon = at(TokenKind::kColon);
  const bool bare =
      at(TokenKind::kIdentifier) && !token().first_on_line && clause_for_foreign(text()).empty();
  if (!colon && !bare) return;
  const std::uint32_t end =
      TypeScan::end_of_type(cursor_, colon ? cursor_.position() + 1 : cursor_.position());
  if (end == TypeScan::kNoType) return;
  const TokenKind next = cursor_.token_at(end).kind;
  if (next != TokenKind::kLeftBrace && next != TokenKind::kFatArrow && next != TokenKind::kSemicolon) return;
  if (colon) {
    slip(range(), "the result type stands after `->`").help("write `-> {}`", text(1));
    advance();
  } else {
    slip(cursor_.gap(), "expected `->` before the result type").help("write `-> {}`", text());
  }
  node.result = parts_.types.type();
}

// `where T: Shape`, `throws`, `noexcept`, which other languages write after the head.
void FunctionParser::foreign_clauses() {
  const std::string_view advice = at(TokenKind::kIdentifier) ? clause_for_foreign(text()) : "";
  if (advice.empty()) return;
  slip(range(), "there is no `{}`", text()).help("{}", advice);
  while (!at(TokenKind::kLeftBrace) && !at(TokenKind::kFatArrow) && !at(TokenKind::kSemicolon) &&
         !at(TokenKind::kRightBrace) && !at(TokenKind::kEnd) && !recovery_.at_margin_declaration())
    advance();
}

void FunctionParser::function_body(ast::Function& node, FunctionBody expected) {
  foreign_clauses();
  const bool has_body = at(TokenKind::kLeftBrace) || at(TokenKind::kFatArrow);
  if (expected == FunctionBody::kOptional && !has_body) return expect_semicolon("the declaration");
  if (at(TokenKind::kLeftBrace)) {
    node.body = parts_.statements.block();
    return;
  }
  if (accept(TokenKind::kFatArrow)) {
    if (at(TokenKind::kLeftBrace)) {
      slip(cursor_.previous(), "a body in braces has no `=>` before it").help("remove `=>`");
      node.body = parts_.statements.block();
      return;
    }
    node.expression = parts_.expressions.expression();
    expect_semicolon("the expression");
    return;
  }
  if (at(TokenKind::kSemicolon)) {
    slip(range(), "the function `{}` has no body", node.name.text)
        .help("write `{{ ... }}`; a function of the host is declared with `extern fn`");
    advance();
    return;
  }
  if (at(TokenKind::kEqual)) {
    slip(range(), "a function that is one expression is written with `=>`").help("write `=>`");
    advance();
    node.expression = parts_.expressions.expression();
    expect_semicolon("the expression");
    return;
  }
  if (at(TokenKind::kColon)) {
    error(range(), "expected `{{` before the function's body, found `:`")
        .help("blocks stand in braces: `{{ ... }}`");
    return;
  }
  Diagnostic& problem = error(token().first_on_line ? cursor_.gap() : range(),
                              "expected `{{` or `=>` before the body of `{}`", node.name.text);
  if (at(TokenKind::kComma) && node.result != nullptr)
    problem.help("several results are a tuple: `-> (A, B)`");
}

// After the `(`, and the `)` too.
std::vector<ast::Parameter> FunctionParser::parameters(ParameterTypes types) {
  std::vector<ast::Parameter> list;
  while (!at(TokenKind::kRightParen) && !at(TokenKind::kEnd)) {
    if (!parameter(list, types) || in_panic()) return list;
    if (!accept(TokenKind::kComma)) break;
  }
  if (!accept(TokenKind::kRightParen)) {
    Diagnostic& problem = error(range(), "expected `,` or `)` after the parameter, found {}", found());
    if (at(TokenKind::kAmpersand) || at(TokenKind::kStar)) {
      problem.help(
          "there are no pointer or reference types: arrays and objects are references already; for a number, "
          "give the "
          "new value back");
    }
  }
  return list;
}

bool FunctionParser::parameter(std::vector<ast::Parameter>& list, ParameterTypes types) {
  ast::Parameter node;
  node.range = range();
  if (at(TokenKind::kAmpersand) && (at_word("self", 1) || at_word("mut", 1))) advance();
  // `self` is an ordinary name if it has a type, or needs none.
  const bool is_receiver =
      at_word("self") && types == ParameterTypes::kRequired && kind(1) != TokenKind::kColon;
  if (at(TokenKind::kThis) || is_receiver) {
    // A method of another language has been reported already.
    const std::uint32_t before = std::max(cursor_.position(), 2U) - 2;
    if (method_for_foreign(cursor_.text_of(cursor_.token_at(before))).empty())
      slip(range(), "a method has `this` without declaring it").help("remove the parameter");
    advance();
    return true;
  }
  const bool declares = at(TokenKind::kLet) || at(TokenKind::kVar) || at(TokenKind::kConst) || at_word("mut");
  if (declares && kind(1) == TokenKind::kIdentifier) {
    slip(range(), "a parameter is a name and a type").help("remove `{}`", text());
    advance();
    if (at_word("self")) {
      advance();
      return true;
    }
  }
  // `i64 x`, `List<i64> xs`
  const std::uint32_t end =
      at(TokenKind::kIdentifier) || at(TokenKind::kLeftBracket) ? end_of_type() : TypeScan::kNoType;
  if (end != TypeScan::kNoType && cursor_.token_at(end).kind == TokenKind::kIdentifier) {
    const TokenKind after = cursor_.token_at(end + 1).kind;
    const bool ends_parameter =
        after == TokenKind::kComma || after == TokenKind::kRightParen || after == TokenKind::kEqual;
    const bool type_first = ends_parameter && !parts_.types.is_type_word(cursor_.token_at(end));
    if (type_first) {
      const SourceRange begin = range();
      const std::string_view name = cursor_.text_of(cursor_.token_at(end));
      node.type = parts_.types.type();
      std::string_view type_text = cursor_.text_of(node.type->range);
      if (const std::string_view here = type_for_foreign(type_text); !here.empty()) type_text = here;
      node.name = take_name();
      slip(cursor_.since(begin), "a parameter's type stands behind its name")
          .help("write `{}: {}`", name, type_text);
      list.push_back(node);
      return true;
    }
  }
  if (at(TokenKind::kLeftParen) && types == ParameterTypes::kInferred) {
    node.patterns.push_back(parts_.matches.tuple_pattern());
  } else if (at(TokenKind::kLeftParen)) {
    error(range(), "expected the name of a parameter, found {}", found())
        .help("name the tuple, and take it apart in the body: `let (a, b) = pair;`");
  } else {
    node.name = expect_name("the name of a parameter");
  }
  if (in_panic()) return false;
  if (accept(TokenKind::kColon)) {
    node.type = parts_.types.type();
  } else if (at(TokenKind::kIdentifier) && parts_.types.is_type_word(token())) {
    slip(cursor_.gap(), "expected `:` before the type").help("write `{}: {}`", node.name.text, text());
    node.type = parts_.types.type();
  } else if (at(TokenKind::kIdentifier) && kind(1) == TokenKind::kColon) {
    slip(node.name.range, "a parameter has one name").help("write `{}: ...`", text());
    node.name = take_name();
    accept(TokenKind::kColon);
    node.type = parts_.types.type();
  } else if (types == ParameterTypes::kRequired) {
    slip(node.name.range, "the parameter `{}` has no type", node.name.text)
        .help("write for example `{}: i64`", node.name.text);
    node.type = error_type();
  }
  if (!in_panic() && accept(TokenKind::kEqual)) node.fallback = parts_.expressions.expression();
  node.range = cursor_.since(node.range);
  list.push_back(node);
  return true;
}

}  // namespace dhpvm::compiler
