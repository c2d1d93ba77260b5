// SPDX-License-Identifier: Apache-2.0
// Constant folding: the same results, bit for bit, as at run time.
#pragma once

#include <cstdint>
#include <optional>

#include "compiler/hir/hir.h"

namespace dhpvm::compiler {

// `value` reduced to the width of the integer type or bool `type`: sign-extended when it is signed.
std::uint64_t wrap(std::uint64_t value, const Type* type);

// Whether the integer literal `value` (negated when `negative`) is a value of the integer type `type`.
bool fits(std::uint64_t value, bool negative, const Type* type);

// The number of bits of a number type; 1 for bool.
unsigned bits_of(const Type* type);

// A constant: kInt, kFloat or kString of `type`.
struct ConstantValue {
  hir::ExprKind kind = hir::ExprKind::kInt;
  const Type* type = nullptr;
  std::uint64_t integer = 0;
  double number = 0;
  std::string text;
};

// The value of `expr` if it is constant. Division by zero is not.
std::optional<ConstantValue> fold(const hir::Expr& expr);

}  // namespace dhpvm::compiler
