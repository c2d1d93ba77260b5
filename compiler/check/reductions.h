// SPDX-License-Identifier: Apache-2.0
// Reduction variables of parallel loops and their updates.
#pragma once

#include "compiler/check/body_part.h"

namespace dhpvm::compiler {

class ReductionChecker : public BodyPart {
 public:
  using BodyPart::BodyPart;

  void parallel_reductions(const ast::Stmt& stmt, hir::ParallelLoop& loop, Frame& kernel);
  bool reduction_assign(const ast::Stmt& stmt, Body& out);
  Variable* outer_variable(const ast::Reduction& reduction);
  const ReducedArray* reduced_array(const ast::Expr& expr);

  static bytecode::ReductionOp operation(ast::ReductionOp op);
  static hir::Binary binary_of(bytecode::ReductionOp op);
  // Whether the operation can combine values of the primitive type.
  static bool can_reduce(const Type* type, bytecode::ReductionOp op);

 private:
  void update_element(const ast::Stmt& stmt, const ReducedArray& array, Body& out);
  void update(const ast::Stmt& stmt, E place, bytecode::ReductionOp op, Body& out);
  const ast::Expr* operand(const ast::Stmt& stmt, bytecode::ReductionOp op);
  const ast::Expr* min_max_argument(const ast::Expr& call, const ast::Expr& place, bytecode::ReductionOp op);
  E element_place(const ast::Expr& place, const ReducedArray& array);
};

}  // namespace dhpvm::compiler
