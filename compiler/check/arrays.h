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
  // An element of a fixed array, or of the array that replaces it in a parallel loop that captures it.
  E fixed_element(hir::Local* array, std::vector<E> indices, Range range);
  static std::uint64_t rows_of(const Type* fixed);
  // The array type that a message suggests in place of a fixed one: "[f64](4)".
  static std::string array_like(const Type* fixed);
  E index_of(E array, const ast::Expr& expr);
  E index_value(const ast::Expr& expr);
  bool warn_of_negative(const hir::Expr& index, Range range, const Type* type, const ast::Expr* whole);
};

}  // namespace dhpvm::compiler
