// SPDX-License-Identifier: Apache-2.0
// Conditions on the index alone: `if j == 0 { a[i, j] } else { a[i, j - 1] }`, `if i > 0 && i < n - 1`. They treat the
// edges of an array apart, and nearly all vectors of lanes lie inside, where every lane gives the same answer.
#pragma once

#include <vector>

#include "codegen/spmd/vectorize.h"

namespace dhpvm::codegen::spmd {

// A copy of the prepared function `scalar` that asks first whether all lanes give each of these conditions the same
// answer, and has a second body for that, in which the answers are uniform: its accesses need no masks. Null if no
// condition on an index decides about accesses, or there is so much code that it is not worth compiling twice. Only
// `vectorize` understands the copy.
llvm::Function* split_edges(llvm::Function& scalar, const std::vector<ArgShape>& args);

}  // namespace dhpvm::codegen::spmd
