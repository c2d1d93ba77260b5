// SPDX-License-Identifier: Apache-2.0
// Inner loops that lanes leave at different times, as `for j in i + 1..n` in a triangle: masks say in each turn which
// lanes go on. But until the first of them leaves, all do: these turns run in a copy of the loop, which only counts.
#pragma once

#include <vector>

#include "codegen/spmd/vectorize.h"

namespace dhpvm::codegen::spmd {

// A copy of the prepared function `scalar` with such loops in front of those whose number of turns is known when they
// begin. It is prepared as well, but only `vectorize` understands it. Null if there is no such loop, or so much code
// that it is not worth compiling twice.
llvm::Function* split_full_turns(llvm::Function& scalar, const std::vector<ArgShape>& args);

}  // namespace dhpvm::codegen::spmd
