// SPDX-License-Identifier: Apache-2.0
#include "compiler/parse/type_scan.h"

namespace dhpvm::compiler {

std::uint32_t TypeScan::end_of_type(const TokenCursor& cursor, std::uint32_t position) {
  TypeScan scan(cursor, position);
  return scan.end(scan.type());
}

std::uint32_t TypeScan::end_of_type_arguments(const TokenCursor& cursor, std::uint32_t position) {
  TypeScan scan(cursor, position);
  return scan.end(scan.arguments());
}

TokenKind TypeScan::kind() const {
  return half_taken_ ? TokenKind::kGreater : cursor_.token_at(position_).kind;
}

bool TypeScan::take(TokenKind k) {
  if (kind() != k) return false;
  half_taken_ = false;
  ++position_;
  return true;
}

bool TypeScan::take_greater() {
  if (kind() != TokenKind::kShiftRight) return take(TokenKind::kGreater);
  half_taken_ = true;
  return true;
}

bool TypeScan::type() {
  if (budget_ == 0) return false;
  --budget_;
  switch (kind()) {
    case TokenKind::kIdentifier:
      if (!named()) return false;
      break;
    case TokenKind::kLeftBracket:
      if (!bracketed()) return false;
      break;
    case TokenKind::kFn:
      if (!parameters()) return false;
      if (take(TokenKind::kArrow)) return type();
      break;
    case TokenKind::kLeftParen:
      take(TokenKind::kLeftParen);
      do {
        if (!whole_type()) return false;
      } while (take(TokenKind::kComma));
      if (!take(TokenKind::kRightParen)) return false;
      break;
    default: return false;
  }
  if (!half_taken_) take(TokenKind::kQuestion);
  if (!half_taken_) take(TokenKind::kBang);
  return true;
}

bool TypeScan::named() {
  take(TokenKind::kIdentifier);
  if (take(TokenKind::kDot) && !take(TokenKind::kIdentifier)) return false;
  return kind() != TokenKind::kLess || arguments();
}

bool TypeScan::bracketed() {
  take(TokenKind::kLeftBracket);
  if (!whole_type()) return false;
  if (take(TokenKind::kComma) && !take(TokenKind::kInt)) return false;
  if (take(TokenKind::kSemicolon)) {
    // The count is any expression; jump over it.
    while (kind() != TokenKind::kRightBracket) {
      if (budget_ == 0 || kind() == TokenKind::kEnd) return false;
      --budget_;
      ++position_;
    }
  }
  return take(TokenKind::kRightBracket);
}

bool TypeScan::parameters() {
  take(TokenKind::kFn);
  if (!take(TokenKind::kLeftParen)) return false;
  while (kind() != TokenKind::kRightParen) {
    if (!whole_type()) return false;
    if (!take(TokenKind::kComma)) break;
  }
  return take(TokenKind::kRightParen);
}

bool TypeScan::arguments() {
  take(TokenKind::kLess);
  do {
    if (!type()) return false;
  } while (!half_taken_ && take(TokenKind::kComma));
  return take_greater();
}

}  // namespace dhpvm::compiler
