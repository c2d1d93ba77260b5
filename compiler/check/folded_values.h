// SPDX-License-Identifier: Apache-2.0
// Variables of parallel loops that are reduced by a function, `reduce(nearer: best)`, and searches,
// `reduce(first: at)` and `reduce(any: found)`. Each block of iterations (blocked_loops.h) has a value of its own, or
// none; those that there are come together behind the loop, in the order of the blocks. A block ends at its first hit,
// and those behind a block with a hit do not start.
#pragma once

#include <vector>

#include "compiler/check/body_part.h"

namespace dhpvm::compiler {

class FoldedValues : public BodyPart {
 public:
  using BodyPart::BodyPart;

  // Outside of the loop: its reductions of this kind, without those that are wrong.
  std::vector<FoldedValue> find(const ast::Stmt& stmt);
  // Outside of it: where each block puts its value.
  void make_places(Blocks& blocks, Range range, Body& before);
  // In the loop.
  void declare(const ast::Stmt& stmt, hir::ParallelLoop& loop, Blocks& blocks);
  // An assignment to the variable of such a reduction; false if it belongs to another kind.
  bool update(const ast::Stmt& stmt, const Variable& variable, Body& out);
  // Behind the body, which goes over one block: what happens before and after.
  void finish(hir::ParallelLoop& loop, const Blocks& blocks, Range range);
  // Behind the loop.
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
