// SPDX-License-Identifier: Apache-2.0
// A loop's body that runs several iterations in each work-item, which share operands: in a product of matrices,
// iterations of one row share loads of the left operand, and those of one column loads of the right one. The iterations
// run in lockstep ("unroll and jam"), each with its own accumulators, so that the order of every sum is unchanged;
// shared operands pass through the group's local memory (tile_plan.h).
//
// All work-items of a group of kSquareGroup by kSquareGroup call it together, for a square of kSquareSide by
// kSquareSide iterations in the last two dimensions. It has the arguments of the original body, followed by two more:
//
//   ..body(..as before, with the indices of the square's first iteration.., i64 row, i64 column)
//
// It runs kSquareRows rows, starting with `row`, and in each of them every kSquareGroup-th column, starting with
// `column`. Both are offsets from the first iteration.
#pragma once

#include "codegen/lower/kernel_lowering.h"

namespace dhpvm::codegen {

// The original body is unchanged. Its kernel has no reductions and cannot trap. Null: nothing in the body would be
// faster.
llvm::Function* square_body(const KernelBody& body, unsigned dimensions);

}  // namespace dhpvm::codegen
