// SPDX-License-Identifier: Apache-2.0
#include "compiler/parse/layout.h"

namespace dhpvm::compiler {

Layout::Layout(const TokenStream& stream, std::string_view source) : tokens_(stream.tokens), source_(source) {
  pair_brackets();
}

TokenKind Layout::behind_group(std::uint32_t index) const {
  const std::uint32_t close = partner(index);
  return close == 0 ? TokenKind::kEnd : tokens_[close + 1].kind;
}

bool Layout::declaration_at_margin(std::uint32_t index) const {
  const Token& token = tokens_[index];
  if (!token.first_on_line || !begins_declaration(token.kind)) return false;
  // The end of the file is not a declaration, so a token follows.
  if (token.kind == TokenKind::kFn && tokens_[index + 1].kind != TokenKind::kIdentifier) return false;
  return token.begin == 0 || source_[token.begin - 1] == '\n';
}

// A bracket without partner keeps 0. `;` and `}` close round and square brackets that are open inside the same braces.
void Layout::pair_brackets() {
  partner_.assign(tokens_.size(), 0);
  std::vector<std::uint32_t> open;
  const auto kind_of_top = [&] { return open.empty() ? TokenKind::kEnd : tokens_[open.back()].kind; };
  const auto drop_until_brace = [&] {
    while (!open.empty() && kind_of_top() != TokenKind::kLeftBrace) open.pop_back();
  };
  for (std::uint32_t i = 0; i < tokens_.size(); ++i) {
    TokenKind opener = TokenKind::kEnd;
    switch (tokens_[i].kind) {
      case TokenKind::kLeftParen:
      case TokenKind::kLeftBracket:
      case TokenKind::kLeftBrace: open.push_back(i); break;
      case TokenKind::kRightParen: opener = TokenKind::kLeftParen; break;
      case TokenKind::kRightBracket: opener = TokenKind::kLeftBracket; break;
      case TokenKind::kRightBrace:
        opener = TokenKind::kLeftBrace;
        drop_until_brace();
        break;
      case TokenKind::kSemicolon: drop_until_brace(); break;
      default:
        if (declaration_at_margin(i)) open.clear();
        break;
    }
    if (opener != TokenKind::kEnd && kind_of_top() == opener) {
      partner_[open.back()] = i;
      open.pop_back();
    }
  }
}

}  // namespace dhpvm::compiler
