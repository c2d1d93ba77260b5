// SPDX-License-Identifier: Apache-2.0
// Parallel loops with reductions that kernels do not support: into elements of arrays here, by functions and searches
// in folded_values.h. The outermost range is cut into blocks, and each block updates its own copies; a second parallel
// loop combines the copies of an element in the order of the blocks. The number of blocks depends only on sizes and on
// the source of the loop, so the bits of the result do, too (docs/decisions/0041, 0091).
#pragma once

#include <string>
#include <vector>

#include "compiler/check/body_part.h"

namespace dhpvm::compiler {

class BlockedLoops : public BodyPart {
 public:
  using BodyPart::BodyPart;

  // Called before the loop, whose ranges are known: `before` makes the copies, and turns the bounds into variables of
  // type i64. Without such reductions there are no blocks.
  Blocks begin(const ast::Stmt& stmt, hir::ParallelLoop& loop, Body& before);
  // Called in the loop: declares the arrays under their names.
  void declare(const ast::Stmt& stmt, hir::ParallelLoop& loop, Blocks blocks);
  // The reduced array as the body sees it, which may ask for its sizes.
  E array_inside(const ReducedArray& array, Range range);
  // Called after the body: makes it a loop over the iterations of one block.
  void finish(hir::ParallelLoop& loop, const Blocks& blocks, Range range);
  // Adds the loops that combine the copies.
  void fold(const hir::ParallelLoop& loop, const Blocks& blocks, Range range, Body& out);

 private:
  ReducedArray find_array(const ast::Reduction& reduction, Body& before);
  bool can_reduce(const Type* type, bytecode::ReductionOp op);
  E identity(bytecode::ReductionOp op, const Type* type, Range range);
  void trap_if(E condition, std::string message, Body& before);
  void keep_bounds(hir::ParallelLoop& loop, Range range, Body& before);
  void choose_blocks(const hir::ParallelLoop& loop, Blocks& blocks, Range range, Body& before);
  E copies_of(const ReducedArray& array, hir::Local* blocks, Range range);
  std::vector<E> dimensions_of(hir::Local* array, Range range);
  void fold_parts(bytecode::ReductionOp op, E whole, E copy, Range range, Body& out);

  E number(std::uint64_t value, Range range) { return integer(value, basic(TypeKind::kI64), range); }
};

}  // namespace dhpvm::compiler
