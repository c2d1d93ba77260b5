// SPDX-License-Identifier: Apache-2.0
// The state of a reduction's block that is done in parts. The interpreter may begin a block that a compiled kernel
// continues.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "bytecode/reduction.h"
#include "offload/loops/iteration_space.h"

namespace dhpvm::offload {

struct OpenBlock {
  // The number of its iterations that have been done; 0: no block has been begun.
  std::uint64_t done = 0;
  // The results so far: bytecode::kReductionLanes registers for each reduction, one reduction after the other. Empty
  // until a block has been begun.
  std::vector<std::uint64_t> lanes;

  // The number of the block's iterations in `front`, a box that begins with the first iteration not done.
  std::uint64_t left(const IterationSpace& front) const {
    return std::min(bytecode::kReductionBlock - done, front.extent(front.inner()));
  }

  // `rest`, which begins behind the iterations that are done, extended to the beginning of the block.
  IterationSpace with_done(IterationSpace rest) const {
    rest.low[rest.inner()] -= static_cast<std::int64_t>(done);
    return rest;
  }

  void begin(std::span<const bytecode::Reduction> reductions) {
    done = 0;
    lanes.clear();
    for (const bytecode::Reduction& reduction : reductions)
      lanes.insert(lanes.end(), bytecode::kReductionLanes, identity(reduction));
  }
};

}  // namespace dhpvm::offload
