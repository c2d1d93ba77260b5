// SPDX-License-Identifier: Apache-2.0
// A loop's body that does several iterations in each work-item, where they share operands: in a product of matrices,
// iterations of one row share what they load of one, and those of one column what they load of the other. The
// iterations run in lockstep ("unroll and jam"), each with accumulators of its own, so that every sum stays in its
// order; what they share comes by way of the group's local memory (tile_plan.h).
//
// All work-items of a group of kSquareGroup by kSquareGroup call it together, for a square of kSquareSide by
// kSquareSide iterations in the last two dimensions. It has more arguments than the body that it is made from:
//
//   ..body(..as before, with the indices of the square's first iteration.., i64 row, i64 column)
//
// It does kSquareRows rows, from `row` on, and in each of them every kSquareGroup-th column, from `column` on. Both
// are distances from the first iteration.
#pragma once

#include "codegen/lower/kernel_lowering.h"

namespace dhpvm::codegen {

// The body stays as it is. Its kernel has no reductions and cannot trap. Null: nothing of the body would get faster.
llvm::Function* square_body(const KernelBody& body, unsigned dimensions);

}  // namespace dhpvm::codegen
