// SPDX-License-Identifier: Apache-2.0
// Operators, except conditions that narrow.
#pragma once

#include "compiler/check/body_part.h"

namespace dhpvm::compiler {

// The operation of `a op b` and `a op= b`; not for `&&`, `||` and `??`, which are control flow.
hir::Binary binary_of(ast::BinaryOp op);

class OperatorChecker : public BodyPart {
 public:
  using BodyPart::BodyPart;

  E unary_expr(const ast::Expr& expr, const Type* expected);
  E binary_expr(const ast::Expr& expr, const Type* expected);
  E arithmetic_on(hir::Binary op, E left, E right, Range range, Range operator_range);
  E comparison(hir::Binary op, const ast::Expr& expr, Condition* facts);
  // The type that the right operand adapts to: the left operand's, or that of the operator method's parameter.
  const Type* right_type(hir::Binary op, const Type* left);

 private:
  bool operands_of(const ast::Expr& expr, hir::Binary op, const Type* expected, E& left, E& right);
  const Type* parameter_of(std::string_view method, const Type* type, Range range);
  E by_method(std::string_view method, E left, E right, Range range);
  void suggest_method(Diagnostic& diagnostic, const Type* type, std::string_view method,
                      std::string_view parameter, std::string_view example);
  E order(hir::Binary op, E left, E right, Range range, Range operator_range);
  E order_of_tuples(hir::Binary op, E left, E right, Range range, Range operator_range);
  E shift(hir::Binary op, const ast::Expr& expr, const Type* expected);
};

}  // namespace dhpvm::compiler
