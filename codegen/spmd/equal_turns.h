// SPDX-License-Identifier: Apache-2.0
// Inner loops over blocks, the last of which is shorter: `for k in 0..min(left, length)`. The number of turns is
// varying, so masks are needed and nothing can be staged. But nearly always it is `length` in all lanes: then a second
// body runs, in which it is uniform.
#pragma once

#include <vector>

#include "codegen/spmd/vectorize.h"

namespace dhpvm::codegen::spmd {

// If a number of turns is a minimum (or maximum) with a uniform operand, gives the prepared function `scalar` a second
// body for the case that the result is that operand in all lanes. It stays prepared, but only `vectorize` understands
// it then. False, with no change, if there is no such minimum, or if there is too much code to compile it twice.
bool split_equal_turns(llvm::Function& scalar, const std::vector<ArgShape>& args);

}  // namespace dhpvm::codegen::spmd
