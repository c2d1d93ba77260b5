// SPDX-License-Identifier: Apache-2.0
// `for` and `parallel for`.
#include "compiler/parse/parser_impl.h"
#include "compiler/text/habits.h"

namespace dhpvm::compiler {

using ast::StmtKind;

// After `..` or `..=`, of which `inclusive` learns.
ast::Expr* Parser::range_end(bool& inclusive) {
  inclusive = source_.substr(previous().begin, previous().end - previous().begin) == "..=";
  const bool touching = previous().end == range().begin;
  if (touching && at(TokenKind::kDot)) {
    slip(join(previous(), range()), "there is no operator `...`")
        .help("write `..=` to include the end, `..` to leave it out");
    advance();
  } else if (touching && at(TokenKind::kLess)) {
    slip(join(previous(), range()), "there is no operator `..<`").help("write `..`: it leaves the end out");
    advance();
  }
  return expression();
}

void Parser::expect_in(std::string_view name) {
  if (accept(TokenKind::kIn)) return;
  if (at(TokenKind::kColon) || at_word("of")) {
    slip(range(), "expected `in` after the loop variable, found {}", found())
        .help("write `for {} in ...`", name);
    advance();
    // `for i, x := range xs`
    if (at(TokenKind::kEqual)) advance();
    if (at_word("range") && starts_expression(1) && kind(1) != TokenKind::kLeftParen) advance();
    return;
  }
  error(range(), "expected `in` after the loop variable, found {}", found())
      .help(
          "write `for {} in 0..n {{ ... }}`, or `for {} in xs {{ ... }}` for the elements of xs; a loop with "
          "a condition is a `while`",
          name, name);
}

ast::Stmt* Parser::for_statement() {
  ast::Stmt* node = make(StmtKind::kForEach, range());
  advance();
  const SourceRange open = range();
  bool in_parentheses = false;
  if (at(TokenKind::kLeftParen)) {
    const bool is_in =
        kind(1) == TokenKind::kIdentifier && (kind(2) == TokenKind::kIn || kind(2) == TokenKind::kComma);
    if (!is_in) return foreign_for();
    slip(open, "the head of a `for` has no parentheses").help("write `for {} in ... {{ }}`", text(1));
    advance();
    in_parentheses = true;
  }
  if (at(TokenKind::kLet) || at(TokenKind::kVar) ||
      (at(TokenKind::kIdentifier) && kind(1) == TokenKind::kIdentifier && !variable_word(text()).empty())) {
    slip(range(), "the loop variable is declared by `for` itself").help("remove `{}`", text());
    advance();
  }
  node->name = expect_name("the name of the loop variable");
  if (!panic_ && accept(TokenKind::kComma)) {
    node->index_name = node->name;
    node->name = expect_name("the name of the element");
  }
  if (!panic_) expect_in(node->name.text);
  if (!panic_) node->value = expression();
  if (!panic_ && (at(TokenKind::kDotDot) || at(TokenKind::kDotDotEqual))) {
    node->kind = StmtKind::kForRange;
    advance();
    node->limit = range_end(node->inclusive);
    if (!node->index_name.empty()) {
      slip(node->name.range, "a range gives one variable")
          .help("write `for {} in ...`", node->index_name.text);
      node->index_name = {};
    }
    if (at_word("by")) slip(range(), "the distance of a range's steps is called `step`").help("write `step`");
    if (at_word("step") || at_word("by")) {
      advance();
      node->step = expression();
    }
  }
  if (node->kind == StmtKind::kForEach && !panic_) word_range(node);
  if (in_parentheses && !panic_) expect(TokenKind::kRightParen, "after the head of the loop");
  if (panic_ && !recover_to_brace()) return error_stmt();
  if (node->value == nullptr) node->value = error_expr();
  node->body = {body("for")};
  return finish(node);
}

// `for i in 0 until 10`, `10 downTo 0`: reads on as if it were written as here.
void Parser::word_range(ast::Stmt* node) {
  const bool down = at_word("downTo");
  if (!down && !at_word("until") && !at_word("to")) return;
  auto& problem = slip(range(), "there is no `{}`", text());
  if (down) {
    problem.help("write `for {} in high..=low step -1`", node->name.text);
  } else {
    problem.help("write `..`, which leaves the end out, or `..=`");
  }
  advance();
  node->kind = StmtKind::kForRange;
  node->limit = expression();
  if (down) {
    // Counts down, so that nothing else is said about it.
    node->step = error_expr();
  }
}

// for (int i = 0; i < n; i++), for (auto& x : xs): says how it is written here and reads on at the body.
ast::Stmt* Parser::foreign_for() {
  const SourceRange open = range();
  bool has_semicolon = false;
  std::uint32_t depth = 0;
  while (!at(TokenKind::kEnd) && !at(TokenKind::kLeftBrace) && !at(TokenKind::kRightBrace)) {
    if (token().first_on_line && depth > 0 && has_semicolon) break;
    if (at(TokenKind::kLeftParen)) ++depth;
    if (at(TokenKind::kRightParen) && --depth == 0) {
      advance();
      break;
    }
    has_semicolon = has_semicolon || at(TokenKind::kSemicolon);
    advance();
  }
  auto& problem = slip(since(open), "this is not how a `for` is written here");
  if (has_semicolon) {
    problem.help(
        "write `for i in 0..n {{ ... }}`, with `step 2` behind it where needed; other loops are `while`");
  } else {
    problem.help("write `for x in xs {{ ... }}`");
  }
  if (!at(TokenKind::kSemicolon)) body("for");
  return error_stmt();
}

// ----------------------------------------------------------------------------------------- parallel for

ast::Stmt* Parser::parallel() {
  const SourceRange begin = range();
  std::vector<ast::Hint> list = hints();
  if (panic_) {
    // Read the loop all the same: its body may hold other mistakes.
    while (!at(TokenKind::kParallel) && !token().first_on_line && !at(TokenKind::kEnd)) advance();
    panic_ = !at(TokenKind::kParallel);
    if (panic_) return error_stmt();
  }
  if (!at(TokenKind::kParallel)) {
    error(list.back().range, "a hint stands before a `parallel for`")
        .help("remove it, or write `parallel for`");
    return error_stmt();
  }
  advance();
  if (!expect(TokenKind::kFor, "after `parallel`")) return error_stmt();
  return parallel_for(begin, std::move(list));
}

std::vector<ast::Hint> Parser::hints() {
  std::vector<ast::Hint> list;
  while (at(TokenKind::kAt) && !panic_) {
    ast::Hint hint;
    hint.range = range();
    advance();
    const ast::Name name = expect_name("the name of a hint");
    if (panic_) break;
    if (name.text == "device") {
      hint.kind = ast::HintKind::kDevice;
    } else if (name.text == "batch") {
      hint.kind = ast::HintKind::kBatch;
    } else if (name.text == "fastmath") {
      hint.kind = ast::HintKind::kFastMath;
    } else {
      error(since(hint.range), "there is no hint `@{}`", name.text)
          .help("the hints are @device(\"gpu\"), @batch(n) and @fastmath");
      break;
    }
    const bool takes_argument = hint.kind != ast::HintKind::kFastMath;
    if (takes_argument) {
      if (!expect(TokenKind::kLeftParen, "after the hint's name")) break;
      hint.argument = inner_expression();
      if (!panic_) expect(TokenKind::kRightParen, "after the hint's argument");
    } else if (at(TokenKind::kLeftParen)) {
      error(range(), "`@fastmath` takes no argument").help("remove the parentheses");
    }
    hint.range = since(hint.range);
    const auto same = [&](const ast::Hint& other) { return other.kind == hint.kind; };
    const auto first = std::find_if(list.begin(), list.end(), same);
    if (first == list.end()) {
      list.push_back(hint);
    } else {
      slip(hint.range, "the hint `@{}` is given twice", name.text).note(first->range, "the first is here");
    }
  }
  return list;
}

ast::Stmt* Parser::parallel_for(SourceRange begin, std::vector<ast::Hint> list) {
  ast::Stmt* node = make(StmtKind::kParallelFor, begin);
  node->parallel = std::make_unique<ast::ParallelFor>();
  node->parallel->hints = std::move(list);
  dimensions(*node->parallel);
  if (!panic_ && at_word("reduce")) {
    advance();
    reductions(*node->parallel);
  }
  const bool complete = !panic_;
  if (panic_ && !recover_to_brace()) return error_stmt();
  node->body = {body("parallel for")};
  return complete ? finish(node) : error_stmt();
}

void Parser::dimensions(ast::ParallelFor& loop) {
  if (at(TokenKind::kLeftParen)) {
    error(range(), "the head of a `parallel for` has no parentheses")
        .help("write `parallel for i in 0..n, j in 0..m {{ ... }}`");
    return;
  }
  const SourceRange begin = range();
  do {
    ast::Dimension dimension;
    dimension.name = expect_name("the name of the loop variable");
    if (panic_) return;
    expect_in(dimension.name.text);
    if (panic_) return;
    dimension.low = expression();
    if (panic_) return;
    if (!accept(TokenKind::kDotDot) && !accept(TokenKind::kDotDotEqual)) {
      error(range(), "a `parallel for` runs over ranges; expected `..`, found {}", found())
          .help("write `parallel for i in 0..xs.len` and use `xs[i]`");
      return;
    }
    dimension.high = range_end(dimension.inclusive);
    loop.dimensions.push_back(dimension);
    if (!panic_ && at_word("step")) {
      error(range(), "the ranges of a `parallel for` have no step")
          .help("loop over the number of steps and multiply: `let i = low + k * step;`");
    }
  } while (!panic_ && accept(TokenKind::kComma));
  if (!panic_ && loop.dimensions.size() > 3) {
    slip(since(begin), "a `parallel for` has at most three ranges, not {}", loop.dimensions.size())
        .help("make the innermost ranges ordinary `for` loops in the body");
    loop.dimensions.resize(3);
  }
}

void Parser::reductions(ast::ParallelFor& loop) {
  const SourceRange open = range();
  if (!expect(TokenKind::kLeftParen, "after `reduce`")) return;
  do {
    if (at(TokenKind::kRightParen)) break;
    ast::Reduction reduction;
    reduction.op_range = range();
    if (!reduction_op(reduction.op)) {
      error(range(), "expected the operation of a reduction, found {}", found())
          .help("write for example `reduce(+: sum, max: top)`; the operations are + * min max & | ^");
      return;
    }
    advance();
    if (!expect(TokenKind::kColon, "after the operation of the reduction")) return;
    reduction.variable = expect_name("the variable of the reduction");
    if (panic_) return;
    loop.reductions.push_back(reduction);
  } while (accept(TokenKind::kComma));
  if (loop.reductions.empty()) {
    slip(join(open, range()), "there is nothing to reduce between the parentheses")
        .help("write for example `reduce(+: sum)`");
  }
  expect(TokenKind::kRightParen, "after the reductions");
}

bool Parser::reduction_op(ast::ReductionOp& op) {
  switch (kind()) {
    case TokenKind::kPlus: op = ast::ReductionOp::kAdd; return true;
    case TokenKind::kStar: op = ast::ReductionOp::kMul; return true;
    case TokenKind::kAmpersand: op = ast::ReductionOp::kAnd; return true;
    case TokenKind::kPipe: op = ast::ReductionOp::kOr; return true;
    case TokenKind::kCaret: op = ast::ReductionOp::kXor; return true;
    default: break;
  }
  if (at_word("min")) {
    op = ast::ReductionOp::kMin;
  } else if (at_word("max")) {
    op = ast::ReductionOp::kMax;
  } else {
    return false;
  }
  return true;
}

}  // namespace dhpvm::compiler
