// SPDX-License-Identifier: Apache-2.0
// Inner loops over blocks, the last of which is shorter: `for k in 0..min(left, length)`. The number of turns varies:
// masks say which lanes go on, and nothing can be staged. But nearly always it is `length` in all lanes: then a second
// body, where it is uniform, runs.
#pragma once

#include <vector>

#include "codegen/spmd/vectorize.h"

namespace dhpvm::codegen::spmd {

// Where lanes share one operand of a minimum (or maximum) that decides about turns, gives the prepared function
// `scalar` a second body, for lanes in all of which the result is that operand. It is prepared as well, but only
// `vectorize` understands it then. False, and nothing is changed, if there is no such minimum, or so much code that it
// is not worth compiling twice.
bool split_equal_turns(llvm::Function& scalar, const std::vector<ArgShape>& args);

}  // namespace dhpvm::codegen::spmd
