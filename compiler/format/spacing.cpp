// SPDX-License-Identifier: Apache-2.0
#include "compiler/format/spacing.h"

namespace dhpvm::compiler {
namespace {

using K = TokenKind;

// Ends an operand, so that an operator behind it has two.
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

// With one operand or two.
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

// Between two operands wherever it stands.
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

// `class Circle : Shape`.
bool is_type_header(const Piece* earlier, const Piece& left) {
  if (left.is(K::kGreater)) return true;
  return earlier != nullptr && (earlier->is(K::kClass) || earlier->is(K::kInterface) ||
                                earlier->is(K::kStruct) || earlier->is(K::kEnum));
}

bool is_range(K kind) { return kind == K::kDotDot || kind == K::kDotDotEqual; }

}  // namespace

bool has_blank_between(const Piece* earlier, const Piece& left, const Piece& right) {
  const bool as_written = right.blanks > 0;
  if (left.is_comment() || right.is_comment()) return as_written || right.kind == Piece::Kind::kLineComment;
  const K l = left.token;
  const K r = right.token;
  if (l == K::kLeftBrace && r == K::kRightBrace) return false;
  if (l == K::kComma || l == K::kSemicolon) return !never_follows_blank(r) || r == K::kDot;
  if (r == K::kColon && is_type_header(earlier, left)) return as_written;
  // A range without a beginning or an end stands in brackets: xs[..3].
  if (never_follows_blank(r) || never_before_blank(l)) return false;
  if (is_range(l) || is_range(r)) return false;
  if (l == K::kColon || is_infix(l) || is_infix(r)) return true;
  if (is_arithmetic(r) && ends_operand(l)) return true;
  const bool is_binary = earlier != nullptr && !earlier->is_comment() && ends_operand(earlier->token) &&
                         earlier->text != "step";  // a word of the language in `0..n step -1`
  if (is_arithmetic(l)) return is_binary || as_written;
  if (l == K::kLeftBrace || l == K::kRightBrace || r == K::kLeftBrace || r == K::kRightBrace) return true;
  if (is_word(l) && is_word(r)) return true;
  if (l == K::kIdentifier && r == K::kLeftParen) return false;
  if (l == K::kRightParen && is_word(r)) return true;
  return as_written;
}

}  // namespace dhpvm::compiler
