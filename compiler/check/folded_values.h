// SPDX-License-Identifier: Apache-2.0
// Variables of parallel loops that are reduced by a function, `reduce(nearer: best)`, and searches, `reduce(first: at)`
// and `reduce(any: found)`. Each block of iterations (blocked_loops.h) has at most one value; after the loop the values
// are combined in the order of the blocks. A search leaves a block at its first hit, and later blocks do not start.
#pragma once

#include <vector>

#include "compiler/check/body_part.h"

namespace dhpvm::compiler {

class FoldedValues : public BodyPart {
 public:
  using BodyPart::BodyPart;

  // Called before the loop: its reductions of this kind, without wrong ones.
  std::vector<FoldedValue> find(const ast::Stmt& stmt);
  // Called before the loop: declares the arrays for the values of the blocks.
  void make_places(Blocks& blocks, Range range, Body& before);
  // Called in the loop.
  void declare(const ast::Stmt& stmt, hir::ParallelLoop& loop, Blocks& blocks);
  // Lowers an assignment to the variable of such a reduction; false for other reductions.
  bool update(const ast::Stmt& stmt, const Variable& variable, Body& out);
  // Called after the body of a block: adds the code before and after it.
  void finish(hir::ParallelLoop& loop, const Blocks& blocks, Range range);
  // Called after the loop.
  void fold(const Blocks& blocks, Range range, Body& out);

 private:
  bool is_other_name(const ast::Reduction& reduction);
  bool can_fold(FoldedValue& value, const Variable& outer);
  const ast::Expr* function_argument(const ast::Stmt& stmt, const FoldedValue& value);
  void combine(const FoldedValue& value, E operand, Range range, Body& out);
  void hit(const FoldedValue& value, E found, Range range, Body& out);
  void check_search(const hir::ParallelLoop& loop);
  E element(hir::Local* array, E index, Range range);
  E call(hir::Function* function, E left, E right, Range range);
  hir::Stmt* when(E condition, Body body, Body otherwise);
};

}  // namespace dhpvm::compiler
