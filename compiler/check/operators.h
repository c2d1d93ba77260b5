// SPDX-License-Identifier: Apache-2.0
// Operators, except the conditions that narrow.
#pragma once

#include "compiler/check/body_part.h"

namespace dhpvm::compiler {

// The operation behind `a op b` and `a op= b`; not for `&&`, `||` and `??`, which are control flow.
hir::Binary binary_of(ast::BinaryOp op);

class OperatorChecker : public BodyPart {
 public:
  using BodyPart::BodyPart;

  E unary_expr(const ast::Expr& expr, const Type* expected);
  E binary_expr(const ast::Expr& expr, const Type* expected);
  E arithmetic_on(hir::Binary op, E left, E right, Range range, Range operator_range);
  E comparison(hir::Binary op, const ast::Expr& expr, Condition* facts);

 private:
  bool operands_of(const ast::Expr& expr, const Type* expected, E& left, E& right);
  E shift(hir::Binary op, const ast::Expr& expr, const Type* expected);
  E coalesce(const ast::Expr& expr, const Type* expected);
};

}  // namespace dhpvm::compiler
