// SPDX-License-Identifier: Apache-2.0
// Row loops: for iterations whose lanes run across the rows of memory, such as those of a transposition.
//
// A loop over two dimensions has lanes along the inner one. If the rows of an operand run along the outer one, each
// iteration would gather from, or scatter to, as many rows as there are lanes. This pass puts a loop over some
// iterations of the outer dimension into the body, an inner loop along those rows: staging transposes them.
#pragma once

#include <llvm/IR/Function.h>

#include <vector>

#include "codegen/spmd/vectorize.h"

namespace dhpvm::codegen::spmd {

// The number of outer iterations in one call: as many 32-bit elements of a row as a staging buffer holds.
constexpr unsigned kRowsInLoop = 64;

// Whether that may pay: the prepared function `scalar` has no loops, and its accesses are far apart from lane to lane.
bool crosses_rows(llvm::Function& scalar, const std::vector<ArgShape>& args);

// Adds a function that runs the prepared function `scalar`, which has no loops, for several indices of a dimension,
// starting with argument `row`. Their number, at least one, is an additional last argument (i64). Null if that is
// impossible.
llvm::Function* put_into_row_loop(llvm::Function& scalar, unsigned row);

}  // namespace dhpvm::codegen::spmd
