// SPDX-License-Identifier: Apache-2.0
// Finds the end of a type by look-ahead: this distinguishes type arguments from comparisons, and `i64 x` from an
// expression.
#pragma once

#include <cstdint>

#include "compiler/parse/token_cursor.h"

namespace dhpvm::compiler {

class TypeScan {
 public:
  static constexpr std::uint32_t kNoType = UINT32_MAX;

  // The token after the type, or after the type arguments with their brackets, that begin at token `position`; kNoType
  // if there is none.
  static std::uint32_t end_of_type(const TokenCursor& cursor, std::uint32_t position);
  static std::uint32_t end_of_type_arguments(const TokenCursor& cursor, std::uint32_t position);

 private:
  TypeScan(const TokenCursor& cursor, std::uint32_t position) : cursor_(cursor), position_(position) {}

  std::uint32_t end(bool found) const { return found && !half_taken_ ? position_ : kNoType; }
  TokenKind kind() const;
  bool take(TokenKind k);
  bool take_greater();
  bool whole_type() { return type() && !half_taken_; }
  bool type();
  bool named();
  bool bracketed();
  bool parameters();  // of a function type
  bool arguments();

  const TokenCursor& cursor_;
  std::uint32_t position_;
  bool half_taken_ = false;  // the first `>` of a `>>` at position_
  // More tokens than any sensible type has. The limit keeps `a<a<a<a<...` from taking quadratic time.
  std::uint32_t budget_ = 256;
};

}  // namespace dhpvm::compiler
