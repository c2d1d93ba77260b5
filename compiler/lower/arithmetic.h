// SPDX-License-Identifier: Apache-2.0
// Arithmetic, comparisons to bool, and conversions.
//
// Integers of 8 and 16 bits live in registers as the 32-bit integer of the same value, and are computed with
// as such; those that may have left their range are brought back by wrap_to().
#pragma once

#include "compiler/lower/lowering_part.h"

namespace dhpvm::compiler {

class ArithmeticLowering : public LoweringPart {
 public:
  using LoweringPart::LoweringPart;

  void unary(const Expr& e, Register to);
  void binary(const Expr& e, Register to);
  void arithmetic(hir::Binary op, const Type* type, Register to, Register left, const Expr& right);
  // From one number type to another; not for pairs that share the register (see same_register in expr.cpp).
  void convert(const Type* to_type, const Type* from_type, Register to, Register from);

 private:
  bool immediate_arithmetic(hir::Binary op, const Type* type, Register to, Register left, const Expr& right);
  void shift(hir::Binary op, const Type* type, Register to, Register left, const Expr& right);
  void compare(const Expr& e, Register to);
  void wrap_to(const Type* type, Register at);
  void clamp(Register at, std::int32_t low, std::int32_t high);
};

}  // namespace dhpvm::compiler
