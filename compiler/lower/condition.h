// SPDX-License-Identifier: Apache-2.0
// Conditions as control flow instead of bools, with comparison and branch in one instruction.
#pragma once

#include "compiler/lower/lowering_part.h"

namespace dhpvm::compiler {

class ConditionLowering : public LoweringPart {
 public:
  using LoweringPart::LoweringPart;

  // Branches to `target` if `e` equals `when`, and falls through otherwise.
  void branch_if(const Expr& e, bool when, LabelId target);

 private:
  void branch_if_compare(const Expr& e, bool when, LabelId target);
  bool branch_if_immediate(hir::Binary op, const Expr& left, const Expr& right, LabelId target);
  void branch_if_equal(const Leaves& types, const Values& left, const Values& right, bool when,
                       LabelId target);
  void branch_if_leaf_equal(const bytecode::ValueType& leaf, Register left, Register right, bool when,
                            LabelId target);
};

}  // namespace dhpvm::compiler
