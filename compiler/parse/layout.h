// SPDX-License-Identifier: Apache-2.0
// The groups among the tokens of a file: brackets with their partners, and declarations at the margin, which end
// every group. They are found once for the whole file, so looking ahead and recovery jump over groups in constant time.
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

  // The token that closes the bracket at `index`; 0 if there is none, or if no bracket opens there.
  std::uint32_t partner(std::uint32_t index) const { return partner_[index]; }
  // The kind of the token behind the group that opens at `index`; kEnd if none does.
  TokenKind behind_group(std::uint32_t index) const;
  // Whether a declaration stands at `index`, at the start of a line without indentation.
  bool declaration_at_margin(std::uint32_t index) const;

 private:
  void pair_brackets();

  const std::vector<Token>& tokens_;
  std::string_view source_;
  std::vector<std::uint32_t> partner_;
};

}  // namespace dhpvm::compiler
