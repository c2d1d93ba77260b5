// SPDX-License-Identifier: Apache-2.0
#include "compiler/parse/grammar_part.h"

#include "compiler/parse/grammar_parts.h"
#include "compiler/parse/lexer.h"

namespace dhpvm::compiler {

ParserState::ParserState(const SourceManager& sources, std::uint32_t file, Diagnostics& diagnostics)
    : stream(lex(sources, file, diagnostics)),
      module(std::make_unique<ast::Module>()),
      layout(stream, sources.file(file).text()),
      cursor(stream, sources.file(file).text(), file),
      errors(cursor, *module, diagnostics),
      recovery(cursor, layout, errors),
      tree(cursor, *module, errors) {}

GrammarPart::GrammarPart(GrammarParts& parts)
    : parts_(parts),
      state_(parts.state),
      cursor_(state_.cursor),
      errors_(state_.errors),
      recovery_(state_.recovery),
      module_(*state_.module) {}

bool GrammarPart::expect(TokenKind k, std::string_view after) {
  if (accept(k)) return true;
  error(range(), "expected {} {}, found {}", describe(k), after, found());
  return false;
}

void GrammarPart::expect_semicolon(std::string_view after) {
  if (in_panic() || accept(TokenKind::kSemicolon)) return;  // in panic mode this is the recovery point
  if (state_.in_arm && (at(TokenKind::kRightBrace) || accept(TokenKind::kComma))) return;
  const bool simply_missing = token().first_on_line || at(TokenKind::kRightBrace) || at(TokenKind::kEnd);
  if (simply_missing) {
    auto& problem = slip(cursor_.gap(), "expected `;` after {}", after);
    // In `7 // 2;` the semicolon is part of a comment.
    const std::string_view rest = cursor_.rest_of_line(cursor_.previous().end);
    if (rest.starts_with("//") && rest.ends_with(';')) {
      problem.help("`//` begins a comment; `/` between integers drops the fraction");
    } else {
      problem.help("write `;` here");
    }
    return;
  }
  auto& problem = error(range(), "expected `;` after {}, found {}", after, found());
  switch (kind()) {
    case TokenKind::kDotDot:
    case TokenKind::kDotDotEqual:
      problem.help(
          "a range is no value: it stands in `for i in a..b`; `xs.slice(a, b)` copies a part of an array");
      break;
    case TokenKind::kLeftBrace:
      problem.help(
          "objects are made by a call, `Name(field: value)`; closures are arguments, `f(fn(x) => x + 1)`");
      break;
    case TokenKind::kString:
    case TokenKind::kFormatBegin:
      problem.help("join strings with `+`, or write `f\"... {{value}} ...\"`");
      break;
    case TokenKind::kComma: problem.help("write each on its own, ending in `;`"); break;
    case TokenKind::kIf: problem.help("a choice is written `if condition {{ a }} else {{ b }}`"); break;
    case TokenKind::kFatArrow: problem.help("a closure is written `fn(x) => x + 1`"); break;
    default: break;
  }
}

ast::Name GrammarPart::take_name() {
  const ast::Name name{text(), range()};
  advance();
  return name;
}

ast::Name GrammarPart::expect_name(std::string_view what) {
  if (at(TokenKind::kIdentifier)) return take_name();
  if (is_keyword(kind()) && !token().first_on_line) {
    const std::string_view word = text();
    slip(range(), "`{}` is a keyword and cannot be {}", word, what)
        .help("choose another name, such as `{}_`", word);
    return take_name();
  }
  error(range(), "expected {}, found {}", what, found());
  return {};
}

std::string GrammarPart::found() const {
  switch (kind()) {
    case TokenKind::kString:
    case TokenKind::kFormatBegin:
    case TokenKind::kEnd:
    case TokenKind::kFormatText:
    case TokenKind::kFormatEnd:
    case TokenKind::kFormatSpec: return std::string(describe(kind()));
    case TokenKind::kFormatClose: return "the `}` of the formatted string";
    default: break;
  }
  if (token().end - token().begin > 40) return std::string(describe(kind()));
  return fmt::format("`{}`", text());
}

bool GrammarPart::starts_expression(std::uint32_t ahead) const {
  switch (kind(ahead)) {
    case TokenKind::kIdentifier:
    case TokenKind::kInt:
    case TokenKind::kByte:
    case TokenKind::kFloat:
    case TokenKind::kString:
    case TokenKind::kFormatBegin:
    case TokenKind::kTrue:
    case TokenKind::kFalse:
    case TokenKind::kNull:
    case TokenKind::kThis:
    case TokenKind::kFn:
    case TokenKind::kIf:
    case TokenKind::kMatch:
    case TokenKind::kTry:
    case TokenKind::kLeftParen:
    case TokenKind::kLeftBracket:
    case TokenKind::kMinus:
    case TokenKind::kBang:
    case TokenKind::kTilde: return true;
    default: return false;
  }
}

}  // namespace dhpvm::compiler
