// SPDX-License-Identifier: Apache-2.0
// The binary operators and their precedence.
#pragma once

#include <cstdint>
#include <optional>

#include "compiler/parse/ast.h"
#include "compiler/parse/token.h"

namespace dhpvm::compiler {

// From the loosest to the tightest.
enum class Precedence : std::uint8_t {
  kDisjunction,
  kConjunction,
  kComparison,
  kCoalescing,
  kBitOr,
  kBitXor,
  kBitAnd,
  kShift,
  kSum,
  kProduct,
  kOperand,  // tighter than all operators
};

inline Precedence tighter_than(Precedence precedence) {
  return static_cast<Precedence>(static_cast<std::uint8_t>(precedence) + 1);
}

struct BinaryOperator {
  ast::BinaryOp op;
  Precedence precedence;
};

std::optional<BinaryOperator> binary_operator(TokenKind kind);
bool is_comparison(ast::BinaryOp op);

}  // namespace dhpvm::compiler
