// SPDX-License-Identifier: Apache-2.0
#include "offload/devices/small_indices.h"

#include <algorithm>

namespace dhpvm::offload {

bool has_small_indices(const LoopChunk& chunk) {
  const auto is_small = [](std::int64_t value) { return value >= 0 && value < codegen::kSmallIndices; };
  for (unsigned d = 0; d < chunk.space.dimensions; ++d) {
    if (!is_small(chunk.space.low[d]) || !is_small(chunk.space.high[d])) return false;
  }
  return std::ranges::all_of(chunk.arrays, [&](const codegen::KernelArray& array) {
    return is_small(array.shape.length) && std::ranges::all_of(array.shape.dims, is_small);
  });
}

}  // namespace dhpvm::offload
