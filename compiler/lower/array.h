// SPDX-License-Identifier: Apache-2.0
// Arrays as a whole: making, filling and copying them; atomic updates of their elements.
#pragma once

#include "compiler/lower/lowering_part.h"

namespace dhpvm::compiler {

class ArrayLowering : public LoweringPart {
 public:
  using LoweringPart::LoweringPart;

  void new_array(const Expr& e, Target target);
  void array_literal(const Expr& e, Target target);
  void array_copy(const Expr& e);
  void atomic(const Expr& e, Target target);

 private:
  void fill_array(Register array, const Type* type, const Values& fill);
};

}  // namespace dhpvm::compiler
