// SPDX-License-Identifier: Apache-2.0
// Iterations that each go through a stretch of memory of their own.
#pragma once

#include <cstdint>
#include <vector>

#include "codegen/spmd/loop_analyses.h"
#include "codegen/spmd/vectorize.h"

namespace dhpvm::codegen::spmd {

// The pattern in which one lane accesses memory over the turns of a loop: next to the other lanes, along a row of its
// own, or in no known order.
enum class LaneWalk : std::uint8_t { kTogether, kRow, kScattered };
LaneWalk walk_of(LoopAnalyses& analyses, llvm::Value* address, const llvm::Loop& loop);

// Whether what an iteration of the prepared function `scalar` does is to go through rows: in its inner loops, memory is
// accessed element by element, in another place for each lane, and no element waits for the one before, unless in a sum
// whose order does not matter. Lanes would fetch from as many rows at once, which a cache bears badly (rows of a power
// of two share their few places in it); one iteration after the other reads what lies together, and LLVM makes vectors
// along the row.
bool walks_rows(const llvm::Function& scalar, const std::vector<ArgShape>& args);

}  // namespace dhpvm::codegen::spmd
