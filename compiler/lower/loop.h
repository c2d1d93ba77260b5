// SPDX-License-Identifier: Apache-2.0
// Loops. The bound of a range is computed once, and an iteration costs one instruction on top of its body where
// the step is 1, two otherwise (counted_loop.h).
#pragma once

#include "compiler/lower/lowering_part.h"

namespace dhpvm::compiler {

class LoopLowering : public LoweringPart {
 public:
  using LoweringPart::LoweringPart;

  void while_loop(const Stmt& s);
  void for_range(const Stmt& s);
  void loop_body(const Stmt& s, Register index, LabelId exit, LabelId next);
  // The register of a bound: the operand's own if it does not change.
  Register bound(const Expr& e);
  void convert_in_place(const Type* type, Register at);

 private:
  void for_unit(const Stmt& s, Register index, Op op);
};

}  // namespace dhpvm::compiler
