// SPDX-License-Identifier: Apache-2.0
// Making arrays and indexing them.
#pragma once

#include "compiler/check/body_part.h"

namespace dhpvm::compiler {

class ArrayChecker : public BodyPart {
 public:
  using BodyPart::BodyPart;

  E array_literal(const ast::Expr& expr, const Type* expected);
  E new_array(const ast::Expr& expr);
  bool has_zero(const Type* type);
  E index_expr(const ast::Expr& expr);
  // An element of a fixed array, or of the array that a parallel loop has captured in its place.
  E fixed_element(hir::Local* array, E index, Range range);
  E index_of(E array, const ast::Expr& expr);
  E index_value(const ast::Expr& expr);
};

}  // namespace dhpvm::compiler
