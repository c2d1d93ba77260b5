// SPDX-License-Identifier: Apache-2.0
#include "compiler/parse/match.h"

#include "compiler/parse/grammar_parts.h"

namespace dhpvm::compiler {

using ast::ExprKind;
using ast::PatternKind;

ast::Expr* MatchParser::match_expression() {
  const Level level(*this);
  if (!level.ok) return error_expr();
  ast::Expr* node = make(ExprKind::kMatch, range());
  advance();
  node->operands = {parts_.expressions.expression()};
  if (in_panic() && !recovery_.skip_to_brace()) return error_expr();
  node->arms = arms([this](ast::Arm& arm) {
    const bool braces = at(TokenKind::kLeftBrace);
    arm.value = braces ? parts_.value_blocks.expression("after `=>`") : parts_.expressions.inner_expression();
    if (in_panic() || (braces && !at(TokenKind::kComma)) || accept(TokenKind::kComma) ||
        accept(TokenKind::kSemicolon) || at(TokenKind::kRightBrace))
      return;
    if (token().first_on_line) {
      slip(cursor_.gap(), "expected `,` after the value of this arm").help("write `,` here");
    } else {
      error(range(), "expected `,` after the value of this arm, found {}", found());
    }
  });
  return finish(node);
}

ast::Stmt* MatchParser::match_statement() {
  ast::Stmt* node = make(ast::StmtKind::kMatch, range());
  advance();
  node->value = parts_.expressions.expression();
  if (in_panic() && !recovery_.skip_to_brace()) return error_stmt();
  node->arms = arms([this](ast::Arm& arm) {
    const bool outer = std::exchange(state_.in_arm, true);
    arm.body = parts_.statements.statement();
    state_.in_arm = outer;
    if (!in_panic() && cursor_.text_of(cursor_.previous()) == "}") accept(TokenKind::kComma);
  });
  return finish(node);
}

// `let pattern = value && condition`, with an optional condition: an arm without its body.
ast::Arm MatchParser::let_head(std::string_view word, ast::Expr*& value) {
  ast::Arm arm;
  advance();
  advance();
  arm.range = range();
  if (at(TokenKind::kVar)) {
    slip(range(), "the variables of a condition do not change")
        .help("remove `var`; the body can begin with `var y = x;`");
    advance();
  }
  const bool outer = std::exchange(state_.arrow_closures, false);
  arm.patterns.push_back(pattern());
  arm.patterns[0].part = arm.patterns[0].present = true;
  state_.arrow_closures = outer;
  if (!in_panic() && at(TokenKind::kColon)) {
    slip(range(), "the variables of a condition have the types of the value").help("remove the type");
    advance();
    parts_.types.type();
  }
  if (!in_panic() && !accept(TokenKind::kEqual)) {
    error(range(), "expected `=` after the pattern of `let`, found {}", found())
        .help("write `{} let x = value {{ ... }}`, where the value may be null", word);
  }
  value = in_panic() ? error_expr() : parts_.expressions.operand_of_conjunction();
  if (!in_panic() && accept(TokenKind::kAmpersandAmpersand)) {
    if (at(TokenKind::kLet)) {
      error(range(), "a condition has one `let`, at its beginning").help("write another `if` in the body");
    } else {
      arm.guard = parts_.expressions.operand_of_disjunction();
    }
  }
  if (!in_panic() && (at(TokenKind::kPipePipe) || at(TokenKind::kComma))) {
    error(range(), "a condition with `let` goes on with `&&` alone")
        .help("put parentheses around what stands on either side of `||`");
  }
  return arm;
}

ast::Arm MatchParser::else_arm() {
  ast::Arm arm;
  arm.range = cursor_.gap();
  arm.patterns.emplace_back();
  arm.patterns[0].kind = PatternKind::kElse;
  arm.patterns[0].range = arm.range;
  return arm;
}

ast::Stmt* MatchParser::if_let_statement() {
  ast::Stmt* node = make(ast::StmtKind::kMatch, range());
  ast::Arm arm = let_head("if", node->value);
  if (in_panic() && !recovery_.skip_to_brace()) return error_stmt();
  arm.body = parts_.statements.body("if");
  arm.range = cursor_.since(arm.range);
  ast::Arm other = else_arm();
  other.body = parts_.statements.otherwise();
  if (other.body == nullptr) other.body = make(ast::StmtKind::kBlock, other.range);
  node->arms = {std::move(arm), std::move(other)};
  return finish(node);
}

ast::Expr* MatchParser::if_let_expression() {
  ast::Expr* node = make(ExprKind::kMatch, range());
  ast::Expr* value = nullptr;
  ast::Arm arm = let_head("if", value);
  if (in_panic()) return error_expr();
  arm.value = parts_.value_blocks.expression("after the condition");
  arm.range = cursor_.since(arm.range);
  ast::Arm other = else_arm();
  if (!in_panic() && !accept(TokenKind::kElse))
    error(cursor_.gap(), "this `if` gives no value when its condition is false").help("add `else {{ ... }}`");
  if (in_panic()) return error_expr();
  other.value =
      at(TokenKind::kIf) ? parts_.primary.if_expression() : parts_.value_blocks.expression("after `else`");
  node->operands = {value};
  node->arms = {std::move(arm), std::move(other)};
  return in_panic() ? error_expr() : finish(node);
}

ast::Stmt* MatchParser::while_let_statement() {
  ast::Stmt* loop = make(ast::StmtKind::kWhile, range());
  ast::Stmt* choice = make(ast::StmtKind::kMatch, range());
  ast::Arm arm = let_head("while", choice->value);
  if (in_panic() && !recovery_.skip_to_brace()) return error_stmt();
  arm.body = parts_.statements.body("while");
  arm.range = cursor_.since(arm.range);
  ast::Arm other = else_arm();
  other.body = finish(make(ast::StmtKind::kBreak, other.range));
  choice->arms = {std::move(arm), std::move(other)};
  ast::Stmt* body = make(ast::StmtKind::kBlock, choice->range);
  body->body = {finish(choice)};
  loop->value = make(ExprKind::kBool, cursor_.gap());
  loop->value->integer = 1;
  loop->value = finish(loop->value);
  loop->body = {finish(body)};
  return finish(loop);
}

template <typename ParseBody>
std::vector<ast::Arm> MatchParser::arms(ParseBody body) {
  std::vector<ast::Arm> list;
  const SourceRange open = range();
  if (!expect(TokenKind::kLeftBrace, "before the arms of the match")) return list;
  const bool outer = std::exchange(state_.arrow_closures, true);
  bool told = false;  // arms in another language's style are reported once, because all are written so
  while (!at(TokenKind::kRightBrace) && !at(TokenKind::kEnd) && !recovery_.at_margin_declaration()) {
    const std::uint32_t before = cursor_.position();
    ast::Arm arm;
    arm.range = range();
    foreign_case(told);
    arm.patterns = patterns();
    if (!in_panic() && accept(TokenKind::kIf)) arm.guard = guard();
    if (!in_panic()) arm_arrow(told);
    if (!in_panic()) body(arm);
    arm.range = cursor_.since(arm.range);
    const bool complete = arm.value != nullptr || arm.body != nullptr;
    if (complete) list.push_back(std::move(arm));
    if (in_panic()) recovery_.skip_to_statement();
    if (cursor_.position() == before) advance();
  }
  state_.arrow_closures = outer;
  if (!accept(TokenKind::kRightBrace)) {
    error(range(), "expected `}}` at the end of the match, found {}", found()).note(open, "it begins here");
  }
  return list;
}

// The condition of an arm: `pattern if condition => ...`.
ast::Expr* MatchParser::guard() {
  const bool outer = std::exchange(state_.arrow_closures, false);
  state_.guard = cursor_.position();
  ast::Expr* condition = parts_.expressions.expression();
  state_.arrow_closures = outer;
  return condition;
}

// `case 1:`, which begins an arm in other languages.
void MatchParser::foreign_case(bool& told) {
  if (!at_word("case") || (!starts_expression(1) && !at_word("else", 1))) return;
  // A case of an enum with this name, with its values.
  const TokenKind behind = state_.layout.behind_group(cursor_.position() + 1);
  if (kind(1) == TokenKind::kLeftParen && behind != TokenKind::kColon) return;
  if (!told) slip(range(), "an arm begins with its pattern").help("write `pattern => ...`, without `case`");
  told = true;
  advance();
}

void MatchParser::arm_arrow(bool& told) {
  if (accept(TokenKind::kFatArrow)) return;
  if (at(TokenKind::kArrow) || at(TokenKind::kColon)) {
    if (!told) slip(range(), "an arm is written with `=>`").help("write `=>`");
    told = true;
    advance();
    return;
  }
  auto& problem = error(range(), "expected `=>` after the pattern, found {}", found());
  if (at_word("when") || at_word("where")) problem.help("the condition of an arm begins with `if`");
  if (at_word("or") || at(TokenKind::kPipePipe))
    problem.help("alternatives are separated by `|`: `1 | 2 => ...`");
}

std::vector<ast::Pattern> MatchParser::patterns() {
  const bool outer = std::exchange(state_.arrow_closures, false);
  if (at(TokenKind::kPipe)) {
    slip(range(), "there is no pattern before this `|`").help("remove it");
    advance();
  }
  std::vector<ast::Pattern> list;
  do {
    list.push_back(pattern());
    ast::Pattern& last = list.back();
    last.part = last.whole = last.kind == PatternKind::kName && last.type->qualifier.empty();
  } while (!in_panic() && (accept(TokenKind::kPipe) || accept(TokenKind::kComma)));
  state_.arrow_closures = outer;
  return list;
}

// At `name(`, `Enum.name(` or `module.Enum.name(`: the number of tokens before the parenthesis, otherwise 0.
std::uint32_t MatchParser::tokens_of_case_name() const {
  std::uint32_t ahead = 0;
  while (kind(ahead) == TokenKind::kIdentifier) {
    ++ahead;
    if (kind(ahead) == TokenKind::kLeftParen) return ahead;
    if (kind(ahead) == TokenKind::kColon && kind(ahead + 1) == TokenKind::kColon) {  // `Shape::circle(r)`
      ahead += 2;
      continue;
    }
    if (kind(ahead) != TokenKind::kDot) return 0;
    ++ahead;
  }
  return 0;
}

// `circle(r)`, `Shape.box(w, h: 1.0)`
ast::Pattern MatchParser::case_pattern(std::uint32_t tokens) {
  const Level level(*this);
  ast::Pattern result;
  result.range = range();
  if (!level.ok) return result;
  ast::Expr* path = make(ExprKind::kName, range());
  path->name = take_name();
  path = finish(path);
  const std::uint32_t end = cursor_.position() + tokens - 1;
  while (cursor_.position() < end) {
    if (at(TokenKind::kColon)) {
      slip(join(range(), range(1)), "members are reached with a dot").help("write `.`");
      advance();
    }
    advance();
    ast::Expr* member = make(ExprKind::kMember, path->range);
    member->operands = {path};
    member->name = take_name();
    path = finish(member);
  }
  result.kind = PatternKind::kCase;
  result.value = path;
  parts_in_parentheses(result);
  return result;
}

// `(a, 0)`. Parentheses around one pattern have no meaning.
ast::Pattern MatchParser::tuple_pattern() {
  const Level level(*this);
  ast::Pattern result;
  result.range = range();
  if (!level.ok) return result;
  result.kind = PatternKind::kTuple;
  parts_in_parentheses(result);
  if (in_panic()) return result;
  for (const ast::Pattern& part : result.parts) {
    if (!part.label.empty()) slip(part.label.range, "the values of a tuple have no names").help("remove it");
  }
  if (result.parts.empty()) error(result.range, "there is nothing between the parentheses");
  if (result.parts.size() != 1) return result;
  ast::Pattern only = result.parts[0];
  return only;
}

void MatchParser::parts_in_parentheses(ast::Pattern& whole) {
  const SourceRange open = range();
  advance();
  while (!at(TokenKind::kRightParen) && !at(TokenKind::kEnd)) {
    whole.parts.push_back(part());
    if (in_panic() || !accept(TokenKind::kComma)) break;
  }
  if (!in_panic() && !accept(TokenKind::kRightParen)) {
    error(range(), "expected `,` or `)` after the pattern, found {}", found())
        .note(open, "its parts begin here");
  }
  whole.range = cursor_.since(whole.range);
}

// A nested pattern: `r`, `_`, `3..10`, `circle(r)`, `radius: r`, `1 | 2`.
ast::Pattern MatchParser::part() {
  ast::Name label;
  if (at(TokenKind::kIdentifier) && kind(1) == TokenKind::kColon) {
    label = take_name();
    advance();
  }
  ast::Pattern result = alternative();
  if (at(TokenKind::kPipe) && !in_panic()) {
    ast::Pattern either;
    either.kind = PatternKind::kEither;
    either.range = result.range;
    either.parts.push_back(std::move(result));
    while (!in_panic() && accept(TokenKind::kPipe)) either.parts.push_back(alternative());
    either.range = cursor_.since(either.range);
    result = std::move(either);
  }
  result.label = label;
  result.part = true;
  return result;
}

ast::Pattern MatchParser::alternative() {
  ast::Pattern result;
  const bool ends_next =
      kind(1) == TokenKind::kComma || kind(1) == TokenKind::kRightParen || kind(1) == TokenKind::kPipe;
  if (at_word("_") && ends_next) {
    result.range = range();
    result.kind = PatternKind::kElse;
    advance();
  } else if (at(TokenKind::kLet) || at(TokenKind::kVar)) {
    slip(range(), "a name in a pattern is a new variable already").help("remove `{}`", text());
    advance();
    result = pattern();
  } else {
    result = pattern();
  }
  result.part = true;
  return result;
}

ast::Pattern MatchParser::pattern() {
  ast::Pattern result;
  result.range = range();
  const bool ends_next = kind(1) == TokenKind::kFatArrow || kind(1) == TokenKind::kComma ||
                         kind(1) == TokenKind::kArrow || kind(1) == TokenKind::kColon ||
                         kind(1) == TokenKind::kIf || kind(1) == TokenKind::kPipe;
  // Before an arrow it may be a case of an enum.
  const bool foreign_default =
      at_word("default") && (kind(1) == TokenKind::kColon || kind(1) == TokenKind::kArrow);
  if (at(TokenKind::kElse) || (at_word("_") && ends_next) || foreign_default) {
    if (foreign_default) slip(range(), "the arm for everything else is `else`").help("write `else`");
    advance();
    result.kind = PatternKind::kElse;
    return result;
  }
  if (at(TokenKind::kNull)) {
    advance();
    result.kind = PatternKind::kNull;
    return result;
  }
  if (at(TokenKind::kIs)) {
    slip(range(), "a type is a pattern of itself").help("remove `is`: `Circle c => ...`");
    advance();
  }
  if (at(TokenKind::kLeftParen)) return tuple_pattern();
  if (const std::uint32_t tokens = tokens_of_case_name(); tokens != 0) return case_pattern(tokens);
  if (at(TokenKind::kIdentifier)) {
    const std::uint32_t end = end_of_type();
    const TokenKind after = end == TypeScan::kNoType ? TokenKind::kEnd : cursor_.token_at(end).kind;
    const bool arrow_or_comma = after == TokenKind::kFatArrow || after == TokenKind::kComma ||
                                after == TokenKind::kIf || after == TokenKind::kRightParen ||
                                after == TokenKind::kPipe;
    // Not just `name` or `module.name`: it has type arguments or a `?`.
    const TokenKind last = end == TypeScan::kNoType ? TokenKind::kEnd : cursor_.token_at(end - 1).kind;
    const bool only_type = arrow_or_comma && last != TokenKind::kIdentifier;
    if (after == TokenKind::kIdentifier || only_type) {
      result.kind = PatternKind::kType;
      result.type = parts_.types.type();
      if (at(TokenKind::kIdentifier)) result.binding = take_name();
      result.range = cursor_.since(result.range);
      return result;
    }
  }
  result.value = parts_.expressions.operand_of_pattern();
  result.kind = PatternKind::kValue;
  if (at(TokenKind::kDotDot) || at(TokenKind::kDotDotEqual)) {
    advance();
    result.kind = PatternKind::kRange;
    parts_.loops.range_operator(result.inclusive);
    result.high = parts_.expressions.operand_of_pattern();
  }
  result.range = cursor_.since(result.range);
  const ast::Expr& value = *result.value;
  if (in_panic() || result.kind == PatternKind::kRange) return result;
  if (value.kind == ExprKind::kCall) {
    slip(value.range, "a pattern is no call").help("write a constant, or `else` and an `if`");
    result.kind = PatternKind::kError;
    return result;
  }
  const bool qualified =
      value.kind == ExprKind::kMember && value.operands[0]->kind == ExprKind::kName && !value.safe;
  if (value.parenthesised || (value.kind != ExprKind::kName && !qualified)) return result;
  result.kind = PatternKind::kName;
  result.type = make(ast::TypeKind::kNamed, value.range);
  result.type->name = value.name;
  if (qualified) result.type->qualifier = value.operands[0]->name;
  return result;
}

}  // namespace dhpvm::compiler
