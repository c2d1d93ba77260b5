// SPDX-License-Identifier: Apache-2.0
// Rows of iterations whose lanes go against the order of memory, as those of a transposition.
//
// A loop over two dimensions has lanes along the inner one. Where an operand has its rows along the outer one, each
// iteration would gather from, or scatter to, as many rows as there are lanes. A loop over some iterations of the outer
// dimension is put into the body here, which makes it an inner loop along those rows: staging transposes them.
#pragma once

#include <llvm/IR/Function.h>

#include <vector>

#include "codegen/spmd/vectorize.h"

namespace dhpvm::codegen::spmd {

// Iterations of the outer dimension in one call: as many 32-bit elements of a row as a staging buffer holds.
constexpr unsigned kRowsInLoop = 64;

// Whether that may gain anything: the prepared function `scalar` has no loops, and accesses elements that lie far apart
// from lane to lane.
bool crosses_rows(llvm::Function& scalar, const std::vector<ArgShape>& args);

// Adds a function that does what the prepared function `scalar`, which has no loops, does for several indices of a
// dimension, from argument `row` on. It takes how many, at least one, as an additional last argument (i64).
// Null where it cannot be done.
llvm::Function* put_into_row_loop(llvm::Function& scalar, unsigned row);

}  // namespace dhpvm::codegen::spmd
