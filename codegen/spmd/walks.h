// SPDX-License-Identifier: Apache-2.0
// Iterations that each walk along their own row of memory.
#pragma once

#include <cstdint>
#include <vector>

#include "codegen/spmd/loop_analyses.h"
#include "codegen/spmd/vectorize.h"

namespace dhpvm::codegen::spmd {

// How one lane accesses memory over the turns of a loop: next to the other lanes, along its own row, or in an unknown
// order.
enum class LaneWalk : std::uint8_t { kTogether, kRow, kScattered };
LaneWalk walk_of(LoopAnalyses& analyses, llvm::Value* address, const llvm::Loop& loop);

// Whether an iteration of the prepared function `scalar` only walks along rows: its inner loops access memory element
// by element, far apart from lane to lane, and no element depends on the previous one, except in a reassociable sum.
// Lanes would load from as many rows at once, which thrashes caches (rows of a power of two share few cache sets); one
// iteration after the other reads contiguous memory, and LLVM vectorises along the row.
bool walks_rows(const llvm::Function& scalar, const std::vector<ArgShape>& args);

}  // namespace dhpvm::codegen::spmd
