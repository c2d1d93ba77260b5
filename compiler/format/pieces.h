// SPDX-License-Identifier: Apache-2.0
// The tokens and comments of a file, which the formatter rearranges.
#pragma once

#include <string_view>
#include <vector>

#include "compiler/parse/token.h"

namespace dhpvm::compiler {

struct Piece {
  enum class Kind : unsigned char { kToken, kLineComment, kBlockComment };
  Kind kind = Kind::kToken;
  TokenKind token = TokenKind::kEnd;  // a whole formatted string is one piece: kString
  std::string_view text;              // as it stands in the source
  unsigned line_ends = 0;             // between the piece before and this one
  unsigned blanks = 0;                // between the piece before, or the beginning of the line, and this one

  bool is(TokenKind kind_of_token) const { return kind == Kind::kToken && token == kind_of_token; }
  bool is_comment() const { return kind != Kind::kToken; }
};

// The pieces of a file, in order. They refer to `source`.
std::vector<Piece> pieces_of(std::string_view source, const TokenStream& stream);

}  // namespace dhpvm::compiler
