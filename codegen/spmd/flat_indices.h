// SPDX-License-Identifier: Apache-2.0
// Loops over a flat index that is decomposed into row and column: `let x = i % width; let y = i / width;`. In general
// both are varying, so accesses at them are gathers. But mostly all lanes are in one row: then `y` is uniform, and `x`
// increases by one from lane to lane.
#pragma once

#include <vector>

#include "codegen/spmd/vectorize.h"

namespace dhpvm::codegen::spmd {

// A copy of the prepared function `scalar` that first tests whether all lanes are in one row, and has a second body for
// that case, in which row and column are computed that way; prepared as well. Null if no address depends on a
// decomposed index, or if there is too much code to compile it twice. Only `vectorize` understands the copy.
llvm::Function* split_flat_indices(llvm::Function& scalar, const std::vector<ArgShape>& args);

}  // namespace dhpvm::codegen::spmd
