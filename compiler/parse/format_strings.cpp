// SPDX-License-Identifier: Apache-2.0
#include "compiler/parse/format_strings.h"

#include "compiler/parse/format_spec.h"
#include "compiler/parse/grammar_parts.h"

namespace dhpvm::compiler {

ast::Expr* FormatStringParser::format_string() {
  const Level level(*this);
  if (!level.ok) return error_expr();
  ast::Expr* node = make(ast::ExprKind::kFormat, range());
  advance();
  while (!at(TokenKind::kFormatEnd) && !at(TokenKind::kEnd)) {
    ast::FormatPart part;
    part.range = range();
    if (at(TokenKind::kFormatText)) {
      part.text = state_.stream.strings[token().value];
      advance();
    } else {
      advance();  // kFormatOpen
      format_hole(part);
      part.range = cursor_.since(part.range);
    }
    node->parts.push_back(std::move(part));
  }
  accept(TokenKind::kFormatEnd);
  return finish(node);
}

void FormatStringParser::format_hole(ast::FormatPart& part) {
  const bool panic_before = in_panic();
  if (at(TokenKind::kFormatClose) || at(TokenKind::kFormatSpec)) {
    slip(join(part.range, range()), "there is no expression between the braces")
        .help("write `{{{{` and `}}}}` for braces in the text");
    part.value = error_expr();
  } else {
    part.value = parts_.expressions.inner_expression();
  }
  const bool in_number = at(TokenKind::kFormatSpec) && !format_spec(part);
  const bool unread = !at(TokenKind::kFormatClose) && !at(TokenKind::kError) && !in_panic();
  const SourceRange where = range();
  const std::string what = found();
  const bool debug_form = at(TokenKind::kEqual);
  // An error inside the braces ends with them. The lexer has reported braces that it had to close.
  skip_to_hole_end(in_number);
  const bool closed = cursor_.previous().begin != cursor_.previous().end;
  if (unread && closed) {
    auto& problem = slip(where, "expected `}}` after the expression, found {}", what);
    if (debug_form) problem.help("write the name into the text: `x = {{x}}`");
  }
  errors_.restore_panic(panic_before);
}

bool FormatStringParser::format_spec(ast::FormatPart& part) {
  SourceRange whole = range();
  std::string form(text());
  part.spec_texts.push_back(text());
  advance();
  while (at(TokenKind::kFormatOpen) && !in_panic()) {
    advance();
    part.spec_numbers.push_back(parts_.expressions.inner_expression());
    if (!at(TokenKind::kFormatClose)) return false;
    advance();
    form += kComputedNumber;
    if (!at(TokenKind::kFormatSpec)) return true;
    form += text();
    part.spec_texts.push_back(text());
    whole = join(whole, range());
    advance();
  }
  std::string problem;
  const bool good = parse_format_spec(form, part.spec, problem);
  part.spec.text = {part.spec_texts.front().data(),
                    part.spec_texts.back().data() + part.spec_texts.back().size()};
  if (good || in_panic()) return true;
  slip(whole, "wrong format specification: {}", problem)
      .help(
          "the form is [[fill]align][sign][#][0][width][,][.precision][type], for example `:>8.3f` or "
          "`:>{{width}}`");
  part.spec = {};
  return true;
}

void FormatStringParser::skip_to_hole_end(bool in_number) {
  std::uint32_t depth = 0;
  std::uint32_t numbers = in_number ? 1 : 0;  // numbers of the specification in their own braces
  while (!at(TokenKind::kEnd)) {
    if (at(TokenKind::kFormatBegin)) ++depth;
    if (at(TokenKind::kFormatEnd)) {
      if (depth == 0) return;
      --depth;
    }
    if (at(TokenKind::kFormatOpen) && depth == 0) ++numbers;
    if (at(TokenKind::kFormatClose) && depth == 0) {
      if (numbers == 0) {
        advance();
        return;
      }
      --numbers;
    }
    advance();
  }
}

}  // namespace dhpvm::compiler
