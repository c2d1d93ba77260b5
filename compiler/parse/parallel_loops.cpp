// SPDX-License-Identifier: Apache-2.0
#include "compiler/parse/parallel_loops.h"

#include "compiler/parse/grammar_parts.h"

namespace dhpvm::compiler {

using ast::StmtKind;

ast::Stmt* ParallelLoopParser::parallel() {
  const SourceRange begin = range();
  std::vector<ast::Hint> list = hints();
  if (in_panic()) {
    // Parse the loop nevertheless: its body may contain other errors.
    while (!at(TokenKind::kParallel) && !token().first_on_line && !at(TokenKind::kEnd)) advance();
    if (!at(TokenKind::kParallel)) return error_stmt();
    errors_.end_panic();
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

std::vector<ast::Hint> ParallelLoopParser::hints() {
  std::vector<ast::Hint> list;
  while (at(TokenKind::kAt) && !in_panic()) {
    ast::Hint hint;
    hint.range = range();
    advance();
    const ast::Name name = expect_name("the name of a hint");
    if (in_panic()) break;
    if (name.text == "device") {
      hint.kind = ast::HintKind::kDevice;
    } else if (name.text == "batch") {
      hint.kind = ast::HintKind::kBatch;
    } else if (name.text == "fastmath") {
      hint.kind = ast::HintKind::kFastMath;
    } else {
      error(cursor_.since(hint.range), "there is no hint `@{}`", name.text)
          .help("the hints are @device(\"gpu\"), @batch(n) and @fastmath");
      break;
    }
    const bool takes_argument = hint.kind != ast::HintKind::kFastMath;
    if (takes_argument) {
      if (!expect(TokenKind::kLeftParen, "after the hint's name")) break;
      hint.argument = parts_.expressions.inner_expression();
      if (!in_panic()) expect(TokenKind::kRightParen, "after the hint's argument");
    } else if (at(TokenKind::kLeftParen)) {
      error(range(), "`@fastmath` takes no argument").help("remove the parentheses");
    }
    hint.range = cursor_.since(hint.range);
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

ast::Stmt* ParallelLoopParser::parallel_for(SourceRange begin, std::vector<ast::Hint> list) {
  ast::Stmt* node = make(StmtKind::kParallelFor, begin);
  node->parallel = std::make_unique<ast::ParallelFor>();
  node->parallel->hints = std::move(list);
  dimensions(*node->parallel);
  if (!in_panic() && at_word("reduce")) {
    advance();
    reductions(*node->parallel);
  }
  const bool complete = !in_panic();
  if (in_panic() && !recovery_.skip_to_brace()) return error_stmt();
  node->body = {parts_.statements.body("parallel for")};
  return complete ? finish(node) : error_stmt();
}

void ParallelLoopParser::dimensions(ast::ParallelFor& loop) {
  if (at(TokenKind::kLeftParen)) {
    error(range(), "the head of a `parallel for` has no parentheses")
        .help("write `parallel for i in 0..n, j in 0..m {{ ... }}`");
    return;
  }
  const SourceRange begin = range();
  do {
    ast::Dimension dimension;
    dimension.name = expect_name("the name of the loop variable");
    if (in_panic()) return;
    parts_.loops.expect_in(dimension.name.text);
    if (in_panic()) return;
    dimension.low = parts_.expressions.expression();
    if (in_panic()) return;
    if (!accept(TokenKind::kDotDot) && !accept(TokenKind::kDotDotEqual)) {
      error(range(), "a `parallel for` runs over ranges; expected `..`, found {}", found())
          .help("write `parallel for i in 0..xs.len` and use `xs[i]`");
      return;
    }
    dimension.high = parts_.loops.range_end(dimension.inclusive);
    if (!in_panic()) dimension.step = parts_.loops.range_step();
    loop.dimensions.push_back(dimension);
  } while (!in_panic() && accept(TokenKind::kComma));
  if (!in_panic() && loop.dimensions.size() > 3) {
    slip(cursor_.since(begin), "a `parallel for` has at most three ranges, not {}", loop.dimensions.size())
        .help("make the innermost ranges ordinary `for` loops in the body");
    loop.dimensions.resize(3);
  }
}

void ParallelLoopParser::reductions(ast::ParallelFor& loop) {
  const SourceRange open = range();
  if (!expect(TokenKind::kLeftParen, "after `reduce`")) return;
  do {
    if (at(TokenKind::kRightParen)) break;
    ast::Reduction reduction;
    reduction.op_range = range();
    if (reduction_op(reduction.op)) {
      advance();
    } else if (at(TokenKind::kIdentifier) &&
               (kind(1) == TokenKind::kRightParen || kind(1) == TokenKind::kComma)) {
      error(range(), "a reduction begins with its operation")
          .help("write for example `reduce(+: {})`", text());
      return;
    } else if (at(TokenKind::kIdentifier)) {
      reduction.op = ast::ReductionOp::kFunction;
      reduction.function = parts_.expressions.expression();
    } else {
      error(range(), "expected the operation of a reduction, found {}", found())
          .help(
              "write for example `reduce(+: sum, max: top)`; the operations are + * min max & | ^, first, "
              "any and "
              "functions");
      return;
    }
    if (in_panic()) return;
    if (!expect(TokenKind::kColon, "after the operation of the reduction")) return;
    reduction.variable = expect_name("the variable of the reduction");
    if (in_panic()) return;
    if (accept(TokenKind::kLeftBracket)) {
      if (!expect(TokenKind::kRightBracket, "to reduce into the elements of an array")) return;
      reduction.of_elements = true;
    }
    loop.reductions.push_back(reduction);
  } while (accept(TokenKind::kComma));
  if (loop.reductions.empty()) {
    slip(join(open, range()), "there is nothing to reduce between the parentheses")
        .help("write for example `reduce(+: sum)`");
  }
  expect(TokenKind::kRightParen, "after the reductions");
}

bool ParallelLoopParser::reduction_op(ast::ReductionOp& op) {
  switch (kind()) {
    case TokenKind::kPlus: op = ast::ReductionOp::kAdd; return true;
    case TokenKind::kStar: op = ast::ReductionOp::kMul; return true;
    case TokenKind::kAmpersand: op = ast::ReductionOp::kAnd; return true;
    case TokenKind::kPipe: op = ast::ReductionOp::kOr; return true;
    case TokenKind::kCaret: op = ast::ReductionOp::kXor; return true;
    default: break;
  }
  using enum ast::ReductionOp;
  for (const ast::ReductionOp word : {kMin, kMax, kFirst, kAny}) {
    if (!at_word(to_string(word)) || kind(1) != TokenKind::kColon) continue;
    op = word;
    return true;
  }
  return false;
}

}  // namespace dhpvm::compiler
