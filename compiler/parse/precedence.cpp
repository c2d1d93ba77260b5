// SPDX-License-Identifier: Apache-2.0
#include "compiler/parse/precedence.h"

namespace dhpvm::compiler {

using ast::BinaryOp;

std::optional<BinaryOperator> binary_operator(TokenKind kind) {
  switch (kind) {
    case TokenKind::kPipePipe: return BinaryOperator{BinaryOp::kOr, Precedence::kDisjunction};
    case TokenKind::kAmpersandAmpersand: return BinaryOperator{BinaryOp::kAnd, Precedence::kConjunction};
    case TokenKind::kEqualEqual: return BinaryOperator{BinaryOp::kEq, Precedence::kComparison};
    case TokenKind::kBangEqual: return BinaryOperator{BinaryOp::kNe, Precedence::kComparison};
    case TokenKind::kLess: return BinaryOperator{BinaryOp::kLt, Precedence::kComparison};
    case TokenKind::kLessEqual: return BinaryOperator{BinaryOp::kLe, Precedence::kComparison};
    case TokenKind::kGreater: return BinaryOperator{BinaryOp::kGt, Precedence::kComparison};
    case TokenKind::kGreaterEqual: return BinaryOperator{BinaryOp::kGe, Precedence::kComparison};
    case TokenKind::kQuestionQuestion: return BinaryOperator{BinaryOp::kCoalesce, Precedence::kCoalescing};
    case TokenKind::kPipe: return BinaryOperator{BinaryOp::kBitOr, Precedence::kBitOr};
    case TokenKind::kCaret: return BinaryOperator{BinaryOp::kBitXor, Precedence::kBitXor};
    case TokenKind::kAmpersand: return BinaryOperator{BinaryOp::kBitAnd, Precedence::kBitAnd};
    case TokenKind::kShiftLeft: return BinaryOperator{BinaryOp::kShl, Precedence::kShift};
    case TokenKind::kShiftRight: return BinaryOperator{BinaryOp::kShr, Precedence::kShift};
    case TokenKind::kPlus: return BinaryOperator{BinaryOp::kAdd, Precedence::kSum};
    case TokenKind::kMinus: return BinaryOperator{BinaryOp::kSub, Precedence::kSum};
    case TokenKind::kStar: return BinaryOperator{BinaryOp::kMul, Precedence::kProduct};
    case TokenKind::kSlash: return BinaryOperator{BinaryOp::kDiv, Precedence::kProduct};
    case TokenKind::kPercent: return BinaryOperator{BinaryOp::kRem, Precedence::kProduct};
    default: return std::nullopt;
  }
}

bool is_comparison(BinaryOp op) {
  switch (op) {
    case BinaryOp::kEq:
    case BinaryOp::kNe:
    case BinaryOp::kLt:
    case BinaryOp::kLe:
    case BinaryOp::kGt:
    case BinaryOp::kGe: return true;
    default: return false;
  }
}

}  // namespace dhpvm::compiler
