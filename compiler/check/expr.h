// SPDX-License-Identifier: Apache-2.0
// Dispatches on the kinds of expressions; conditionals, `x!` and `x ?? y`.
#pragma once

#include "compiler/check/body_part.h"

namespace dhpvm::compiler {

class ExpressionChecker : public BodyPart {
 public:
  using BodyPart::BodyPart;

  // `expected` is a hint: literals and closures adapt to it, but the result may have another type.
  E expr(const ast::Expr& expr, const Type* expected = nullptr);
  E coalesce(const ast::Expr& expr, const Type* expected);  // x ?? y

 private:
  E dispatch(const ast::Expr& expr, const Type* expected);
  E if_expr(const ast::Expr& expr, const Type* expected);
  E unwrap_expr(const ast::Expr& expr);
  E block_expr(const ast::Expr& expr, const Type* expected);
};

}  // namespace dhpvm::compiler
