// SPDX-License-Identifier: Apache-2.0
// Inner loops that lanes leave at different times, such as `for j in i + 1..n` in a triangle: each turn needs masks.
// But all lanes are active until the first one leaves: these turns run in a copy of the loop without masks.
#pragma once

#include <vector>

#include "codegen/spmd/vectorize.h"

namespace dhpvm::codegen::spmd {

// A copy of the prepared function `scalar` with such loops before those whose number of turns is known at their start.
// It is prepared as well, but only `vectorize` understands it. Null if there is no such loop, or if there is too much
// code to compile it twice.
llvm::Function* split_full_turns(llvm::Function& scalar, const std::vector<ArgShape>& args);

}  // namespace dhpvm::codegen::spmd
