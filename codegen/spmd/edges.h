// SPDX-License-Identifier: Apache-2.0
// Conditions on the index alone: `if j == 0 { a[i, j] } else { a[i, j - 1] }`, `if i > 0 && i < n - 1`. They handle the
// edges of an array separately, and are uniform in nearly all vectors of lanes.
#pragma once

#include <vector>

#include "codegen/spmd/vectorize.h"

namespace dhpvm::codegen::spmd {

// A copy of the prepared function `scalar` that first tests whether each of these conditions is uniform, and has a
// second body for that case, in which accesses need no masks. Null if no access depends on such a condition, or if
// there is too much code to compile it twice. Only `vectorize` understands the copy.
llvm::Function* split_edges(llvm::Function& scalar, const std::vector<ArgShape>& args);

}  // namespace dhpvm::codegen::spmd
