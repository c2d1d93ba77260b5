// SPDX-License-Identifier: Apache-2.0
#include "compiler/parse/primary.h"

#include "compiler/parse/grammar_parts.h"
#include "compiler/text/habits.h"

namespace dhpvm::compiler {

using ast::ExprKind;

ast::Expr* PrimaryParser::primary() {
  switch (kind()) {
    case TokenKind::kInt:
    case TokenKind::kByte:
    case TokenKind::kFloat:
    case TokenKind::kString:
    case TokenKind::kTrue:
    case TokenKind::kFalse:
    case TokenKind::kNull: return literal();
    case TokenKind::kFormatBegin: return parts_.format_strings.format_string();
    case TokenKind::kLeftParen: return parenthesised();
    case TokenKind::kLeftBracket: return bracketed();
    case TokenKind::kFn: return closure();
    case TokenKind::kIf: return if_expression();
    case TokenKind::kMatch: return parts_.matches.match_expression();
    case TokenKind::kReturn:
    case TokenKind::kBreak:
    case TokenKind::kContinue: return parts_.results.jump_expression();
    case TokenKind::kTry: return parts_.results.try_block();
    case TokenKind::kThis: {
      ast::Expr* node = make(ExprKind::kThis, range());
      advance();
      return finish(node);
    }
    case TokenKind::kIdentifier: break;
    case TokenKind::kLeftBrace:
      if (parts_.value_blocks.begins_block()) return parts_.value_blocks.expression("here");
      return not_an_expression();
    default: return not_an_expression();
  }
  // Keywords follow a name only in `0..end step 2` and `0..end reduce(+: sum)`.
  const bool name_next = kind(1) == TokenKind::kIdentifier && !token(1).first_on_line &&
                         !at_word("step", 1) && !at_word("reduce", 1);
  // `lambda x: x`, `function(x) { ... }`
  const auto body_next = [&] {
    const TokenKind behind = state_.layout.behind_group(cursor_.position() + 1);
    return behind == TokenKind::kLeftBrace ||
           (state_.arrow_closures && (behind == TokenKind::kFatArrow || behind == TokenKind::kArrow));
  };
  const bool foreign_closure =
      (at_word("lambda") && name_next) ||
      (is_function_word(text()) && kind(1) == TokenKind::kLeftParen && !in_panic() && body_next());
  if (foreign_closure) {
    error(range(), "a closure begins with `fn`").help("write `fn(x) => x + 1`, or `fn(x) {{ ... }}`");
    return error_expr();
  }
  if (at_word("new") && name_next && foreign_new()) return error_expr();
  const bool operand_next = name_next || (kind(1) == TokenKind::kString && !token(1).first_on_line);
  if (const std::string_view advice = statement_for_foreign(text()); operand_next && !advice.empty()) {
    error(range(), "there is no `{}`", text()).help("{}", advice);
    return error_expr();
  }
  const bool arrow_closure = kind(1) == TokenKind::kFatArrow && !in_panic() && state_.arrow_closures;
  if (arrow_closure) {
    error(join(range(), range(1)), "a closure begins with `fn`").help("write `fn({}) => ...`", text());
    return error_expr();
  }
  ast::Expr* node = make(ExprKind::kName, range());
  node->name = take_name();
  return finish(node);
}

// At `new C(1)`, which continues as `C(1)`. True for types of other languages, and arrays, where it cannot.
bool PrimaryParser::foreign_new() {
  const SourceRange where = range();
  advance();
  const std::string_view here = type_for_foreign(text());
  const std::string_view type = here.empty() ? text() : here;
  if (kind(1) == TokenKind::kLeftBracket) {
    error(where, "an array is made by a call").help("write `[{}](n)` for n elements", type);
    return true;
  }
  if (here.empty()) {
    slip(where, "objects are made without `new`").help("write `{}(...)`", type);
    return false;
  }
  error(where, "objects are made without `new`")
      .help("write `{}(...)`, with the types where they are not known", type);
  return true;
}

ast::Expr* PrimaryParser::not_an_expression() {
  if (at(TokenKind::kError)) {
    advance();
    return error_expr();
  }
  // At the end of a line, the place after the last token is more helpful than the next line.
  const bool line_over = token().first_on_line || at(TokenKind::kEnd);
  auto& problem = line_over ? error(cursor_.gap(), "expected an expression here")
                            : error(range(), "expected an expression, found {}", found());
  switch (kind()) {
    case TokenKind::kPipe:
    case TokenKind::kPipePipe: problem.help("a closure is written `fn(x) => x + 1`"); break;
    case TokenKind::kDot:
      if (kind(1) == TokenKind::kInt && cursor_.touches_next()) problem.help("write `0.{}`", text(1));
      break;
    case TokenKind::kLeftBrace:
      problem.help(
          "lists are written `[1, 2, 3]`, also of a `Set`, maps `[\"a\": 1]`, and objects are made by a "
          "call: "
          "`Name(field: value)`");
      break;
    case TokenKind::kEqual: problem.help("`==` compares; an assignment is a statement of its own"); break;
    case TokenKind::kLet:
    case TokenKind::kVar:
      problem.help(
          "a declaration is a statement of its own, or begins a condition: `if let x = value && ...`");
      break;
    default:
      if (is_keyword(kind()) && !line_over) {
        problem.help("`{}` is a keyword; a name must be another word", text());
      }
      break;
  }
  return error_expr();
}

ast::Expr* PrimaryParser::literal() {
  ast::Expr* node = make(ExprKind::kInt, range());
  const std::uint32_t value = token().value;
  switch (kind()) {
    case TokenKind::kInt:
      node->integer = state_.stream.integers[value].value;
      node->suffix = state_.stream.integers[value].suffix;
      break;
    case TokenKind::kByte:
      node->integer = value;
      node->is_byte = true;
      break;
    case TokenKind::kFloat:
      node->kind = ExprKind::kFloat;
      node->number = state_.stream.numbers[value].value;
      node->suffix = state_.stream.numbers[value].suffix;
      break;
    case TokenKind::kString:
      node->kind = ExprKind::kString;
      node->text = state_.stream.strings[value];
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

ast::Expr* PrimaryParser::parenthesised() {
  const SourceRange open = range();
  const bool arrow =
      state_.layout.behind_group(cursor_.position()) == TokenKind::kFatArrow && state_.arrow_closures;
  advance();
  if (arrow) {
    error(open, "a closure begins with `fn`").help("write `fn` before the `(`");
    return error_expr();
  }
  if (at(TokenKind::kRightParen)) {
    error(join(open, range()), "there is nothing between the parentheses");
    return error_expr();
  }
  ast::Expr* expr = parts_.expressions.inner_expression();
  if (at(TokenKind::kComma) && !in_panic()) return tuple(expr, open);
  if ((at(TokenKind::kDotDot) || at(TokenKind::kDotDotEqual)) && !in_panic()) {
    error(range(), "a range is no value")
        .help("write it without parentheses: `for i in low..high step 2`, or `high..=low step -1`");
    return error_expr();
  }
  if (at(TokenKind::kEqual) && !in_panic()) {
    error(range(), "an assignment is no expression")
        .help("write `==` to compare; `while let x = f()` goes on until it is null");
    return error_expr();
  }
  if (!in_panic() && !accept(TokenKind::kRightParen)) {
    error(range(), "expected `)`, found {}", found()).note(open, "the parenthesis is opened here");
  }
  expr->parenthesised = true;
  expr->range = cursor_.since(open);
  return in_panic() ? expr : foreign_cast(expr);
}

// After the first value of `(a, b)`.
ast::Expr* PrimaryParser::tuple(ast::Expr* first, SourceRange open) {
  ast::Expr* node = make(ExprKind::kTuple, open);
  node->operands.push_back(first);
  while (!in_panic() && accept(TokenKind::kComma) && !at(TokenKind::kRightParen))
    node->operands.push_back(parts_.expressions.inner_expression());
  if (!in_panic() && !accept(TokenKind::kRightParen)) {
    error(range(), "expected `,` or `)` after the value, found {}", found())
        .note(open, "the tuple is opened here");
  }
  if (node->operands.size() > 1) return finish(node);
  if (!in_panic()) slip(cursor_.since(open), "a tuple has at least two values").help("remove the `,`");
  return first;
}

// `(int) x`, after the parenthesis.
ast::Expr* PrimaryParser::foreign_cast(ast::Expr* expr) {
  if (expr->kind != ExprKind::kName || token().first_on_line) return expr;
  const bool operand = at(TokenKind::kIdentifier) || at(TokenKind::kInt) || at(TokenKind::kFloat);
  const std::string_view meant = type_for_foreign(expr->name.text);
  const bool is_type = !meant.empty() || is_primitive_type_name(expr->name.text);
  if (!operand || !is_type) return expr;
  slip(expr->range, "a conversion stands behind the value")
      .help("write `x as {}`", meant.empty() ? expr->name.text : meant);
  parts_.operands.postfix();
  return error_expr();
}

ast::Expr* PrimaryParser::bracketed() {
  const std::uint32_t type_end = end_of_type();
  const bool makes_array =
      type_end != TypeScan::kNoType && cursor_.token_at(type_end).kind == TokenKind::kLeftParen;
  if (makes_array) {
    ast::Expr* node = make(ExprKind::kNewArray, range());
    node->type = parts_.types.type(TypePlace::kExpression);
    if (node->type->kind == ast::TypeKind::kFixedArray) {
      slip(node->type->range, "a fixed array is declared, not made").help("write `var a: [T; N];`");
      node->type->kind = ast::TypeKind::kArray;
      node->type->count = nullptr;
      node->type->columns = nullptr;
    }
    if (!in_panic()) node->arguments = parts_.operands.arguments();
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
  if (at(TokenKind::kColon) && kind(1) == TokenKind::kRightBracket) {
    node->kind = ExprKind::kMapLiteral;
    advance();
  }
  while (!at(TokenKind::kRightBracket) && !at(TokenKind::kEnd)) {
    const bool is_key = node->operands.empty() || node->kind == ExprKind::kMapLiteral;
    node->operands.push_back(parts_.expressions.inner_expression());
    if (in_panic()) return finish(node);
    if (is_key && (at(TokenKind::kColon) || node->kind == ExprKind::kMapLiteral)) {
      node->kind = ExprKind::kMapLiteral;
      if (!expect(TokenKind::kColon, "after the key")) return finish(node);
      node->operands.push_back(parts_.expressions.inner_expression());
      if (in_panic()) return finish(node);
    }
    const bool is_type = node->operands.size() == 1 && node->operands[0]->kind == ExprKind::kName &&
                         is_primitive_type_name(node->operands[0]->name.text);
    if (at(TokenKind::kSemicolon) && is_type) {  // [f64; 3]
      slip(range(), "a fixed array is declared by its type")
          .help("write `var a: [{}; N];`", node->operands[0]->name.text);
      advance();
      parts_.expressions.inner_expression();
      accept(TokenKind::kRightBracket);
      return error_expr();
    }
    if (at(TokenKind::kSemicolon) && kind(1) == TokenKind::kInt) {  // [0; 10]
      slip(range(), "an array of equal elements is made by a call").help("write `[i64](n, fill: 0)`");
      advance();
      parts_.expressions.inner_expression();
      break;
    }
    if (at(TokenKind::kFor)) {
      error(range(), "there are no comprehensions")
          .help("write `xs.map(fn(x) => ...)`, behind `xs.filter(fn(x) => ...)` where there is a condition");
      return error_expr();  // its variable is undeclared, which is not reported as well
    }
    if (!accept(TokenKind::kComma)) break;
  }
  if (!accept(TokenKind::kRightBracket)) {
    error(range(), "expected `,` or `]` after the element, found {}", found())
        .note(open, "the array is opened here");
  }
  module_.has_map_literals = module_.has_map_literals || node->kind == ExprKind::kMapLiteral;
  return finish(node);
}

ast::Expr* PrimaryParser::closure() {
  ast::Expr* node = make(ExprKind::kClosure, range());
  ast::Function& function = state_.tree.make_function(range());
  node->closure = &function;
  advance();
  if (at(TokenKind::kIdentifier)) {
    slip(range(), "a closure has no name")
        .help("name the variable that holds it: `let {} = fn(...) ...`", text());
    advance();
  }
  if (expect(TokenKind::kLeftParen, "after `fn`"))
    function.parameters = parts_.functions.parameters(ParameterTypes::kInferred);
  if (!in_panic()) parts_.functions.result_type(function);
  if (!in_panic()) {
    if (accept(TokenKind::kFatArrow)) {
      function.expression = parts_.expressions.inner_expression();
    } else if (at(TokenKind::kLeftBrace)) {
      function.body = parts_.statements.block();
    } else {
      error(range(), "expected `{{` or `=>` after the closure's parameters, found {}", found())
          .help("write `fn(x) => x + 1`, or `fn(x) {{ ... }}`");
    }
  }
  function.range = cursor_.since(function.range);
  const bool has_body = function.body != nullptr || function.expression != nullptr;
  return has_body ? finish(node) : error_expr();
}

ast::Expr* PrimaryParser::if_expression() {
  const Level level(*this);
  if (!level.ok) return error_expr();
  if (kind(1) == TokenKind::kLet) return parts_.matches.if_let_expression();
  ast::Expr* node = make(ExprKind::kIf, range());
  advance();
  ast::Expr* test = parts_.expressions.condition("if");
  if (in_panic()) return error_expr();
  ast::Expr* yes = parts_.value_blocks.expression("after the condition");
  ast::Expr* no = nullptr;
  if (!in_panic() && !at(TokenKind::kElse)) {
    error(cursor_.gap(), "this `if` gives no value when its condition is false").help("add `else {{ ... }}`");
  }
  if (!in_panic()) {
    advance();
    no = at(TokenKind::kIf) ? if_expression() : parts_.value_blocks.expression("after `else`");
  }
  if (in_panic()) return error_expr();
  node->operands = {test, yes, no};
  return finish(node);
}

}  // namespace dhpvm::compiler
