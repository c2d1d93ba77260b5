// SPDX-License-Identifier: Apache-2.0
// The bracket structure of a file: matching brackets, and declarations at the left margin, which close every open
// bracket. It is computed once, so that look-ahead and recovery skip brackets in constant time.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "compiler/parse/token.h"

namespace dhpvm::compiler {

class Layout {
 public:
  // Both must outlive the layout.
  Layout(const TokenStream& stream, std::string_view source);

  // The token that closes the bracket at `index`; 0 if it is not closed, or if no bracket opens there.
  std::uint32_t partner(std::uint32_t index) const { return partner_[index]; }
  // The kind of the token after the bracketed group that opens at `index`; kEnd if none does.
  TokenKind behind_group(std::uint32_t index) const;
  // Whether a declaration starts at `index`, at the start of an unindented line.
  bool declaration_at_margin(std::uint32_t index) const;

 private:
  void pair_brackets();

  const std::vector<Token>& tokens_;
  std::string_view source_;
  std::vector<std::uint32_t> partner_;
};

}  // namespace dhpvm::compiler
