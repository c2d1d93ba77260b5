// SPDX-License-Identifier: Apache-2.0
// Methods of arrays: dim, slice, copy, fill, close.
#pragma once

#include "compiler/check/body_part.h"

namespace dhpvm::compiler {

class ArrayMethods : public BodyPart {
 public:
  using BodyPart::BodyPart;

  E array_method(E array, const ast::Expr& member, const ast::Expr& call);
  E slice_expr(const ast::Expr& expr);
  E dim_of(E array, std::uint32_t dimension, Range range);

 private:
  void report_no_slice(const Type* type, const ast::Expr& expr);
  E array_slice(E array, E low, E high, Range range);
  E array_fill(E array, E filler, Range range);
  E array_copy(E array, Range range);
};

}  // namespace dhpvm::compiler
