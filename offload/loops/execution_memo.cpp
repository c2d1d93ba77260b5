// SPDX-License-Identifier: Apache-2.0
#include "offload/loops/execution_memo.h"

namespace dhpvm::offload {

void numbers_of(const Footprint& footprint, const LoopChunk& chunk, std::vector<std::int64_t>& numbers) {
  numbers.clear();
  for (unsigned d = 0; d < chunk.space.dimensions; ++d) {
    numbers.push_back(chunk.space.low[d]);
    numbers.push_back(chunk.space.high[d]);
  }
  for (const AtomId id : footprint.relevant_atoms) {
    const Atom& atom = footprint.symbols.atom(id);
    if (atom.kind == AtomKind::kScalar)
      numbers.push_back(static_cast<std::int64_t>(chunk.scalars[atom.number]));
  }
  for (const codegen::KernelArray& array : chunk.arrays) {
    const codegen::ArrayShape& shape = array.shape;
    numbers.insert(numbers.end(), {shape.readable, shape.writable, shape.length});
    numbers.insert(numbers.end(), shape.dims.begin(), shape.dims.end());
    numbers.push_back(array.data != nullptr ? 1 : 0);
  }
}

std::uint64_t hash_of(std::span<const std::int64_t> numbers) {
  std::uint64_t hash = numbers.size();
  for (const std::int64_t number : numbers) {
    // An odd multiplier, so that no bit is lost; the shift brings the upper ones down.
    hash = (hash ^ static_cast<std::uint64_t>(number)) * 0x9E3779B97F4A7C15;
    hash ^= hash >> 29;
  }
  return hash;
}

}  // namespace dhpvm::offload
