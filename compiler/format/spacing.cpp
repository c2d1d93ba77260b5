// SPDX-License-Identifier: Apache-2.0
#include "compiler/format/spacing.h"

namespace dhpvm::compiler {
namespace {

using K = TokenKind;

// Whether the token ends an operand, so that an operator after it is binary.
bool ends_operand(K kind) {
  switch (kind) {
    case K::kIdentifier:
    case K::kInt:
    case K::kByte:
    case K::kFloat:
    case K::kString:
    case K::kRightParen:
    case K::kRightBracket:
    case K::kThis:
    case K::kTrue:
    case K::kFalse:
    case K::kNull: return true;
    default: return false;
  }
}

bool is_word(K kind) {
  return is_keyword(kind) || (ends_operand(kind) && kind != K::kRightParen && kind != K::kRightBracket);
}

// Operators with two operands; the minus also with one.
bool is_arithmetic(K kind) {
  switch (kind) {
    case K::kPlus:
    case K::kMinus:
    case K::kStar:
    case K::kSlash:
    case K::kPercent:
    case K::kAmpersand:
    case K::kPipe:
    case K::kCaret: return true;
    default: return false;
  }
}

// Operators that always have two operands.
bool is_infix(K kind) {
  switch (kind) {
    case K::kBangEqual:
    case K::kEqual:
    case K::kEqualEqual:
    case K::kFatArrow:
    case K::kArrow:
    case K::kPlusEqual:
    case K::kMinusEqual:
    case K::kStarEqual:
    case K::kSlashEqual:
    case K::kPercentEqual:
    case K::kAmpersandEqual:
    case K::kAmpersandAmpersand:
    case K::kPipeEqual:
    case K::kPipePipe:
    case K::kCaretEqual:
    case K::kLessEqual:
    case K::kShiftLeft:
    case K::kShiftLeftEqual:
    case K::kGreaterEqual:
    case K::kShiftRightEqual:
    case K::kQuestionQuestion: return true;
    default: return false;
  }
}

bool never_follows_blank(K kind) {
  switch (kind) {
    case K::kComma:
    case K::kSemicolon:
    case K::kColon:
    case K::kRightParen:
    case K::kRightBracket:
    case K::kDot:
    case K::kQuestionDot: return true;
    default: return false;
  }
}

bool never_before_blank(K kind) {
  switch (kind) {
    case K::kLeftParen:
    case K::kLeftBracket:
    case K::kDot:
    case K::kQuestionDot:
    case K::kTilde:
    case K::kAt: return true;
    default: return false;
  }
}

// The token `back` pieces before piece `n`; kEnd if there is none, or a comment.
K token_before(const std::vector<Piece>& pieces, std::size_t n, std::size_t back) {
  return n < back || pieces[n - back].is_comment() ? K::kEnd : pieces[n - back].token;
}

// `class Circle : Shape`.
bool begins_type(K kind) {
  return kind == K::kClass || kind == K::kInterface || kind == K::kStruct || kind == K::kEnum;
}

// Whether the token may precede parentheses directly, as the name of a function does.
bool is_called(K kind) {
  return kind == K::kIdentifier || kind == K::kFn || kind == K::kInit || kind == K::kThis;
}

bool is_range(K kind) { return kind == K::kDotDot || kind == K::kDotDotEqual; }

}  // namespace

bool has_blank_before(const std::vector<Piece>& pieces, std::size_t n) {
  const Piece& left = pieces[n - 1];
  const Piece& right = pieces[n];
  const bool as_written = right.blanks > 0;
  if (left.is_comment() || right.is_comment()) return as_written || right.kind == Piece::Kind::kLineComment;
  const K l = left.token;
  const K r = right.token;
  const K earlier = token_before(pieces, n, 2);
  if (l == K::kLeftBrace && r == K::kRightBrace) return false;
  if (l == K::kComma || l == K::kSemicolon) return !never_follows_blank(r) || r == K::kDot;
  if (r == K::kColon && begins_type(earlier)) return true;
  if (r == K::kColon && l == K::kGreater) return as_written;
  if (never_follows_blank(r) || never_before_blank(l)) return false;
  if (is_range(l) || is_range(r)) return false;
  if (l == K::kColon || is_infix(l) || is_infix(r)) return true;
  if (is_arithmetic(r) && (ends_operand(l) || is_keyword(l))) return true;
  if (is_arithmetic(l)) {
    // `step` is a keyword in `0..n step -1`, and a name elsewhere.
    const bool is_step = n >= 2 && pieces[n - 2].text == "step" && ends_operand(token_before(pieces, n, 3));
    if (is_step) return false;
    // Only the minus may be unary, also after a brace.
    return l != K::kMinus || ends_operand(earlier) || as_written;
  }
  if (l == K::kLeftBrace || l == K::kRightBrace || r == K::kLeftBrace || r == K::kRightBrace) return true;
  if (is_word(l) && is_word(r)) return true;
  if (r == K::kLeftParen && is_called(l)) return false;
  if (r == K::kLeftParen && is_keyword(l)) return true;
  if (l == K::kRightParen && is_word(r)) return true;
  return as_written;
}

}  // namespace dhpvm::compiler
