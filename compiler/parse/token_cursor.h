// SPDX-License-Identifier: Apache-2.0
// The parser's position in the tokens of a file.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "compiler/parse/token.h"
#include "compiler/text/source.h"

namespace dhpvm::compiler {

class TokenCursor {
 public:
  // `stream` and `source`, the text it was made from, must outlive the cursor.
  TokenCursor(const TokenStream& stream, std::string_view source, std::uint32_t file)
      : stream_(stream), source_(source), file_(file) {}

  // The token `ahead` tokens after the current one; kEnd beyond the end of the file.
  const Token& token(std::uint32_t ahead = 0) const {
    return ahead == 0 && is_split_ ? split_ : token_at(position_ + ahead);
  }
  TokenKind kind(std::uint32_t ahead = 0) const { return token(ahead).kind; }
  bool at(TokenKind k) const { return kind() == k; }
  bool at_word(std::string_view word, std::uint32_t ahead = 0) const {
    return kind(ahead) == TokenKind::kIdentifier && text(ahead) == word;
  }
  // `type` is a keyword only before a name, which no expression allows.
  bool at_alias() const { return at_word("type") && kind(1) == TokenKind::kIdentifier; }
  std::string_view text(std::uint32_t ahead = 0) const { return text_of(token(ahead)); }
  SourceRange range(std::uint32_t ahead = 0) const { return range_of(token(ahead)); }
  bool touches_next() const {
    return token().end == token(1).begin;
  }  // no blank between this token and the next
  // Whether the previous line ended in an unterminated string, which took the rest of that line.
  bool after_broken_string() const;

  std::uint32_t position() const { return position_; }
  const Token& token_at(std::uint32_t position) const {
    return stream_.tokens[std::min<std::size_t>(position, stream_.tokens.size() - 1)];
  }
  std::string_view text_of(const Token& token) const {
    return source_.substr(token.begin, token.end - token.begin);
  }
  std::string_view text_of(SourceRange range) const {
    return source_.substr(range.begin, range.end - range.begin);
  }
  SourceRange range_of(const Token& token) const { return {file_, token.begin, token.end}; }
  std::string_view rest_of_line(std::uint32_t offset) const;  // without blanks around it
  std::uint32_t indentation(std::uint32_t offset) const;      // of its line, in bytes
  // The values of literals.
  const TokenStream& stream() const { return stream_; }

  // The token before the current one.
  SourceRange previous() const { return {file_, previous_begin_, previous_end_}; }
  SourceRange since(SourceRange begin) const {
    return {file_, begin.begin, std::max(begin.end, previous_end_)};
  }
  // The empty range just after the previous token, where something is missing.
  SourceRange gap() const { return {file_, previous_end_, previous_end_}; }

  void advance();
  bool accept(TokenKind k) {
    if (!at(k)) return false;
    advance();
    return true;
  }
  bool accept_greater();  // `>`, or the first half of `>>`, `>=`, `>>=`
  void jump_to(std::uint32_t position);
  void jump_to_end() { jump_to(static_cast<std::uint32_t>(stream_.tokens.size() - 1)); }

 private:
  const TokenStream& stream_;
  std::string_view source_;
  std::uint32_t file_;
  std::uint32_t position_ = 0;
  Token split_;            // the rest of a `>>` whose first half was taken
  bool is_split_ = false;  // then split_ stands for the token at position_
  std::uint32_t previous_begin_ = 0;
  std::uint32_t previous_end_ = 0;
};

}  // namespace dhpvm::compiler
