// SPDX-License-Identifier: Apache-2.0
#include "compiler/format/pieces.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace dhpvm::compiler {
namespace {

// The end of a comment that nests.
std::size_t block_end(std::string_view source, std::size_t at) {
  unsigned depth = 0;
  while (at < source.size()) {
    const std::string_view two = source.substr(at, 2);
    at += two == "/*" || two == "*/" ? 2 : 1;
    if (two == "/*") ++depth;
    if (two == "*/" && --depth == 0) break;
  }
  return at;
}

std::string_view without_blanks_behind(std::string_view text) {
  const std::size_t last = text.find_last_not_of(" \t\r\f\v");
  return text.substr(0, last + 1);
}

class Collector {
 public:
  explicit Collector(std::string_view source) : source_(source) {}

  // Reads the text between two tokens: comments become pieces.
  void add_gap(std::size_t begin, std::size_t end) {
    for (std::size_t at = begin; at < end;) {
      const std::string_view two = source_.substr(at, 2);
      if (two == "//") {
        const std::size_t line_end = std::min(source_.find('\n', at), end);
        add({Piece::Kind::kLineComment, TokenKind::kEnd,
             without_blanks_behind(source_.substr(at, line_end - at))});
        at = line_end;
      } else if (two == "/*") {
        const std::size_t behind = block_end(source_, at);
        add({Piece::Kind::kBlockComment, TokenKind::kEnd, source_.substr(at, behind - at)});
        at = behind;
      } else {
        const bool is_line_end = source_[at] == '\n';
        if (is_line_end) ++line_ends_;
        blanks_ = is_line_end ? 0 : blanks_ + 1;
        ++at;
      }
    }
  }
  void add_token(TokenKind kind, std::size_t begin, std::size_t end) {
    add({Piece::Kind::kToken, kind, source_.substr(begin, end - begin)});
  }
  std::vector<Piece> take() { return std::move(pieces_); }

 private:
  void add(Piece piece) {
    piece.line_ends = line_ends_;
    piece.blanks = blanks_;
    line_ends_ = blanks_ = 0;
    pieces_.push_back(piece);
  }

  std::string_view source_;
  std::vector<Piece> pieces_;
  unsigned line_ends_ = 0;
  unsigned blanks_ = 0;
};

}  // namespace

std::vector<Piece> pieces_of(std::string_view source, const TokenStream& stream) {
  Collector collector(source);
  std::size_t at = 0;
  for (std::size_t n = 0; n < stream.tokens.size(); ++n) {
    const std::size_t begin = stream.tokens[n].begin;
    collector.add_gap(at, begin);
    if (stream.tokens[n].kind == TokenKind::kEnd) break;
    TokenKind kind = stream.tokens[n].kind;
    if (kind == TokenKind::kFormatBegin) {
      for (unsigned depth = 0; n + 1 < stream.tokens.size(); ++n) {
        if (stream.tokens[n].kind == TokenKind::kFormatBegin) ++depth;
        if (stream.tokens[n].kind == TokenKind::kFormatEnd && --depth == 0) break;
      }
      kind = TokenKind::kString;
    }
    at = stream.tokens[n].end;
    collector.add_token(kind, begin, at);
  }
  return collector.take();
}

}  // namespace dhpvm::compiler
