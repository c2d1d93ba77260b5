// SPDX-License-Identifier: Apache-2.0
// Arithmetic, comparisons to bool, and conversions.
//
// Integers of 8 and 16 bits are held in registers as the 32-bit integer of the same value, and computed with as such;
// wrap_to() wraps results that may be out of range.
#pragma once

#include "compiler/lower/lowering_part.h"

namespace dhpvm::compiler {

class ArithmeticLowering : public LoweringPart {
 public:
  using LoweringPart::LoweringPart;

  void unary(const Expr& e, Register to);
  void binary(const Expr& e, Register to);
  void arithmetic(hir::Binary op, const Type* type, Register to, Register left, const Expr& right);
  // From one number type to another; not for types that share a register (see same_register in expr.cpp).
  void convert(const Type* to_type, const Type* from_type, Register to, Register from);

 private:
  bool immediate_arithmetic(hir::Binary op, const Type* type, Register to, Register left, const Expr& right);
  void shift(hir::Binary op, const Type* type, Register to, Register left, const Expr& right);
  void compare(const Expr& e, Register to);
  void wrap_to(const Type* type, Register at);
  void clamp(Register at, std::int32_t low, std::int32_t high);
};

}  // namespace dhpvm::compiler
