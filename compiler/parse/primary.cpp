// SPDX-License-Identifier: Apache-2.0
// The leaves of expressions: literals, names, brackets, closures, `if` as an expression, formatted strings.
#include "compiler/parse/format_spec.h"
#include "compiler/parse/parser_impl.h"
#include "compiler/text/habits.h"

namespace dhpvm::compiler {

using ast::ExprKind;

ast::Expr* Parser::primary() {
  switch (kind()) {
    case TokenKind::kInt:
    case TokenKind::kByte:
    case TokenKind::kFloat:
    case TokenKind::kString:
    case TokenKind::kTrue:
    case TokenKind::kFalse:
    case TokenKind::kNull: return literal();
    case TokenKind::kFormatBegin: return format_string();
    case TokenKind::kLeftParen: return parenthesised();
    case TokenKind::kLeftBracket: return bracketed();
    case TokenKind::kFn: return closure();
    case TokenKind::kIf: return if_expression();
    case TokenKind::kMatch: return match_expression();
    case TokenKind::kThis: {
      ast::Expr* node = make(ExprKind::kThis, range());
      advance();
      return finish(node);
    }
    case TokenKind::kIdentifier: break;
    default: return not_an_expression();
  }
  // `lambda x: x`, `function(x) { ... }`
  const bool foreign_closure =
      (at_word("lambda") && kind(1) == TokenKind::kIdentifier && !token(1).first_on_line) ||
      (is_function_word(text()) && kind(1) == TokenKind::kLeftParen && !panic_ && partner_[pos_ + 1] != 0 &&
       stream_.tokens[partner_[pos_ + 1] + 1].kind == TokenKind::kLeftBrace);
  if (foreign_closure) {
    error(range(), "a closure begins with `fn`").help("write `fn(x) => x + 1`, or `fn(x) {{ ... }}`");
    return error_expr();
  }
  const bool made = at_word("new") && kind(1) == TokenKind::kIdentifier && !token(1).first_on_line;
  if (made) {
    slip(range(), "objects are made without `new`").help("write `{}(...)`", text(1));
    advance();
  }
  const bool arrow_closure = kind(1) == TokenKind::kFatArrow && panic_ == false && arrow_closures_;
  if (arrow_closure) {
    error(join(range(), range(1)), "a closure begins with `fn`").help("write `fn({}) => ...`", text());
    return error_expr();
  }
  ast::Expr* node = make(ExprKind::kName, range());
  node->name = take_name();
  return finish(node);
}

ast::Expr* Parser::not_an_expression() {
  if (at(TokenKind::kError)) {
    advance();
    return error_expr();
  }
  // At the end of a line the place behind the last token says more than the next line.
  const bool line_over = token().first_on_line || at(TokenKind::kEnd);
  auto& problem = line_over ? error(gap(), "expected an expression here")
                            : error(range(), "expected an expression, found {}", found());
  switch (kind()) {
    case TokenKind::kPipe:
    case TokenKind::kPipePipe: problem.help("a closure is written `fn(x) => x + 1`"); break;
    case TokenKind::kDot:
      if (kind(1) == TokenKind::kInt && touches_next()) problem.help("write `0.{}`", text(1));
      break;
    case TokenKind::kLeftBrace:
      problem.help("lists are written `[1, 2, 3]`, objects are made by a call: `Name(field: value)`");
      break;
    case TokenKind::kEqual: problem.help("`==` compares; an assignment is a statement of its own"); break;
    case TokenKind::kLet:
    case TokenKind::kVar: problem.help("a declaration is a statement of its own"); break;
    default:
      if (kind() >= TokenKind::kAs && kind() <= TokenKind::kWhile && !line_over) {
        problem.help("`{}` is a keyword; a name must be another word", text());
      }
      break;
  }
  return error_expr();
}

ast::Expr* Parser::literal() {
  ast::Expr* node = make(ExprKind::kInt, range());
  const std::uint32_t value = token().value;
  switch (kind()) {
    case TokenKind::kInt:
      node->integer = stream_.integers[value].value;
      node->suffix = stream_.integers[value].suffix;
      break;
    case TokenKind::kByte:
      node->integer = value;
      node->is_byte = true;
      break;
    case TokenKind::kFloat:
      node->kind = ExprKind::kFloat;
      node->number = stream_.numbers[value].value;
      node->suffix = stream_.numbers[value].suffix;
      break;
    case TokenKind::kString:
      node->kind = ExprKind::kString;
      node->text = stream_.strings[value];
      break;
    case TokenKind::kTrue:
    case TokenKind::kFalse:
      node->kind = ExprKind::kBool;
      node->integer = at(TokenKind::kTrue) ? 1 : 0;
      break;
    default: node->kind = ExprKind::kNull; break;
  }
  advance();
  return finish(node);
}

ast::Expr* Parser::parenthesised() {
  const SourceRange open = range();
  advance();
  const std::uint32_t close = partner_[pos_ - 1];
  const bool arrow = close != 0 && stream_.tokens[close + 1].kind == TokenKind::kFatArrow && arrow_closures_;
  if (arrow) {
    error(open, "a closure begins with `fn`").help("write `fn` before the `(`");
    return error_expr();
  }
  if (at(TokenKind::kRightParen)) {
    error(join(open, range()), "there is nothing between the parentheses");
    return error_expr();
  }
  ast::Expr* expr = inner_expression();
  if (at(TokenKind::kComma) && !panic_) {
    error(range(), "there are no tuples").help("declare a struct: `struct Pair {{ first: A; second: B; }}`");
  } else if ((at(TokenKind::kDotDot) || at(TokenKind::kDotDotEqual)) && !panic_) {
    error(range(), "a range is no value").help("write it without parentheses: `for i in a..b`");
  } else if (at(TokenKind::kEqual) && !panic_) {
    error(range(), "an assignment is no expression").help("write `==` to compare");
  }
  if (!panic_ && !accept(TokenKind::kRightParen)) {
    error(range(), "expected `)`, found {}", found()).note(open, "the parenthesis is opened here");
  }
  expr->parenthesised = true;
  expr->range = since(open);
  return panic_ ? expr : foreign_cast(expr);
}

// `(int) x`, behind the parenthesis.
ast::Expr* Parser::foreign_cast(ast::Expr* expr) {
  if (expr->kind != ExprKind::kName || token().first_on_line) return expr;
  const bool operand = at(TokenKind::kIdentifier) || at(TokenKind::kInt) || at(TokenKind::kFloat);
  const std::string_view meant = type_for_foreign(expr->name.text);
  const bool is_type = !meant.empty() || is_primitive_type_name(expr->name.text);
  if (!operand || !is_type) return expr;
  slip(expr->range, "a conversion stands behind the value")
      .help("write `x as {}`", meant.empty() ? expr->name.text : meant);
  postfix();
  return error_expr();
}

ast::Expr* Parser::inner_expression() {
  const bool outer = std::exchange(arrow_closures_, true);
  ast::Expr* expr = expression();
  arrow_closures_ = outer;
  return expr;
}

ast::Expr* Parser::bracketed() {
  const std::uint32_t type_end = end_of_type(pos_);
  const bool makes_array = type_end != kNoType && stream_.tokens[type_end].kind == TokenKind::kLeftParen;
  if (makes_array) {
    ast::Expr* node = make(ExprKind::kNewArray, range());
    node->type = type(TypePlace::kExpression);
    if (node->type->kind == ast::TypeKind::kFixedArray) {
      slip(node->type->range, "a fixed array is declared, not made").help("write `var a: [T; N];`");
      node->type->kind = ast::TypeKind::kArray;
      node->type->count = nullptr;
    }
    if (!panic_) node->arguments = arguments();
    return finish(node);
  }
  ast::Expr* node = make(ExprKind::kArrayLiteral, range());
  const SourceRange open = range();
  const bool captures = kind(1) == TokenKind::kAmpersand || kind(1) == TokenKind::kEqual;
  if (kind(captures ? 2 : 1) == TokenKind::kRightBracket && kind(captures ? 3 : 2) == TokenKind::kLeftParen) {
    error(open, "a closure begins with `fn`").help("write `fn(x) => x + 1`, or `fn(x) {{ ... }}`");
    return error_expr();
  }
  advance();
  while (!at(TokenKind::kRightBracket) && !at(TokenKind::kEnd)) {
    node->operands.push_back(inner_expression());
    if (panic_) return finish(node);
    if (at(TokenKind::kSemicolon) && kind(1) == TokenKind::kInt) {  // [0; 10]
      slip(range(), "an array of equal elements is made by a call").help("write `[i64](n, fill: 0)`");
      advance();
      inner_expression();
      break;
    }
    if (at(TokenKind::kFor)) {
      error(range(), "there are no comprehensions")
          .help("make the array with `[T](n)` and fill it in a loop");
      return finish(node);
    }
    if (!accept(TokenKind::kComma)) break;
  }
  if (!accept(TokenKind::kRightBracket)) {
    error(range(), "expected `,` or `]` after the element, found {}", found())
        .note(open, "the array is opened here");
  }
  return finish(node);
}

ast::Expr* Parser::closure() {
  ast::Expr* node = make(ExprKind::kClosure, range());
  ast::Function& function = module_->function_nodes.emplace_back();
  node->closure = &function;
  function.range = range();
  advance();
  if (at(TokenKind::kIdentifier)) {
    slip(range(), "a closure has no name")
        .help("name the variable that holds it: `let {} = fn(...) ...`", text());
    advance();
  }
  if (expect(TokenKind::kLeftParen, "after `fn`")) function.parameters = parameters(false);
  if (!panic_) result_type(function);
  if (!panic_) {
    if (accept(TokenKind::kFatArrow)) {
      function.expression = inner_expression();
    } else if (at(TokenKind::kLeftBrace)) {
      function.body = block();
    } else {
      error(range(), "expected `{{` or `=>` after the closure's parameters, found {}", found())
          .help("write `fn(x) => x + 1`, or `fn(x) {{ ... }}`");
    }
  }
  function.range = since(function.range);
  const bool has_body = function.body != nullptr || function.expression != nullptr;
  return has_body ? finish(node) : error_expr();
}

ast::Expr* Parser::if_expression() {
  const Level level(*this);
  if (!level.ok) return error_expr();
  ast::Expr* node = make(ExprKind::kIf, range());
  advance();
  ast::Expr* test = condition("if");
  if (panic_) return error_expr();
  ast::Expr* yes = branch("after the condition");
  ast::Expr* no = nullptr;
  if (!panic_ && !at(TokenKind::kElse)) {
    error(gap(), "this `if` gives no value when its condition is false").help("add `else {{ ... }}`");
  }
  if (!panic_) {
    advance();
    no = at(TokenKind::kIf) ? if_expression() : branch("after `else`");
  }
  if (panic_) return error_expr();
  node->operands = {test, yes, no};
  return finish(node);
}

ast::Expr* Parser::branch(std::string_view what) {
  if (!expect(TokenKind::kLeftBrace, what)) return error_expr();
  ast::Expr* value = inner_expression();
  if (at(TokenKind::kSemicolon) && !panic_) {
    slip(range(), "a branch of an `if` that gives a value is one expression").help("remove the `;`");
    advance();
  }
  if (!panic_) expect(TokenKind::kRightBrace, "after the value");
  return value;
}

// ------------------------------------------------------------------------------------ formatted strings

ast::Expr* Parser::format_string() {
  const Level level(*this);
  if (!level.ok) return error_expr();
  ast::Expr* node = make(ExprKind::kFormat, range());
  advance();
  while (!at(TokenKind::kFormatEnd) && !at(TokenKind::kEnd)) {
    ast::FormatPart part;
    part.range = range();
    if (at(TokenKind::kFormatText)) {
      part.text = stream_.strings[token().value];
      advance();
    } else {
      advance();  // kFormatOpen
      format_hole(part);
      part.range = since(part.range);
    }
    node->parts.push_back(std::move(part));
  }
  accept(TokenKind::kFormatEnd);
  return finish(node);
}

void Parser::format_hole(ast::FormatPart& part) {
  const bool panic_before = panic_;
  if (at(TokenKind::kFormatClose) || at(TokenKind::kFormatSpec)) {
    slip(join(part.range, range()), "there is no expression between the braces")
        .help("write `{{{{` and `}}}}` for braces in the text");
    part.value = error_expr();
  } else {
    part.value = inner_expression();
  }
  if (at(TokenKind::kFormatSpec)) {
    std::string problem;
    if (!parse_format_spec(text(), part.spec, problem) && !panic_) {
      slip(range(), "wrong format specification: {}", problem)
          .help("the form is [[fill]align][sign][#][0][width][,][.precision][type], for example `:>8.3f`");
      part.spec = {};
    }
    advance();
  }
  const bool unread = !at(TokenKind::kFormatClose) && !at(TokenKind::kError) && !panic_;
  const SourceRange where = range();
  const std::string what = found();
  const bool debug_form = at(TokenKind::kEqual);
  // A mistake inside the braces ends with them. Braces that the lexer had to close have been reported.
  skip_to_hole_end();
  const bool closed = previous().begin != previous().end;
  if (unread && closed) {
    auto& problem = slip(where, "expected `}}` after the expression, found {}", what);
    if (debug_form) problem.help("write the name into the text: `x = {{x}}`");
  }
  panic_ = panic_before;
}

void Parser::skip_to_hole_end() {
  std::uint32_t depth = 0;
  while (!at(TokenKind::kEnd)) {
    if (at(TokenKind::kFormatBegin)) ++depth;
    if (at(TokenKind::kFormatEnd)) {
      if (depth == 0) return;
      --depth;
    }
    if (at(TokenKind::kFormatClose) && depth == 0) {
      advance();
      return;
    }
    advance();
  }
}

}  // namespace dhpvm::compiler
