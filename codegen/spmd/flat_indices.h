// SPDX-License-Identifier: Apache-2.0
// Loops over a flat index that take it apart into row and column: `let x = i % width; let y = i / width;`.
// From lane to lane these may do anything, so that what they address is gathered. But mostly all lanes are in
// one row: then `y` is the same for all of them, and `x` one more in each.
#pragma once

#include <vector>

#include "codegen/spmd/vectorize.h"

namespace dhpvm::codegen::spmd {

// A copy of the prepared function `scalar` that asks first whether all lanes are in one row, and has a second body for
// that, in which row and column are computed in that way; prepared as well. Null if nothing is gained: no index is
// taken apart to address memory, or there is so much code that it is not worth compiling twice. Only `vectorize`
// understands the copy.
llvm::Function* split_flat_indices(llvm::Function& scalar, const std::vector<ArgShape>& args);

}  // namespace dhpvm::codegen::spmd
