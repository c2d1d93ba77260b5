// SPDX-License-Identifier: Apache-2.0
#include "offload/loops/execution_memo.h"

#include <array>
#include <cstddef>

namespace dhpvm::offload {

void numbers_of(const Footprint& footprint, const LoopChunk& chunk, std::vector<std::int64_t>& numbers) {
  // As many as there may be, so that none is appended: this is done for each of the shortest loops.
  numbers.resize(2 * chunk.space.dimensions + chunk.scalars.size() + kArrayNumbers * chunk.arrays.size());
  std::int64_t* next = numbers.data();
  for (unsigned d = 0; d < chunk.space.dimensions; ++d) {
    *next++ = chunk.space.low[d];
    *next++ = chunk.space.high[d];
  }
  for (const AtomId id : footprint.relevant_atoms) {
    const Atom& atom = footprint.symbols.atom(id);
    if (atom.kind == AtomKind::kScalar) *next++ = static_cast<std::int64_t>(chunk.scalars[atom.number]);
  }
  for (const codegen::KernelArray& array : chunk.arrays) {
    const codegen::ArrayShape& shape = array.shape;
    *next++ = shape.readable;
    *next++ = shape.writable;
    *next++ = shape.length;
    for (const std::int64_t size : shape.dims) *next++ = size;
    *next++ = array.data != nullptr ? 1 : 0;
  }
  numbers.resize(static_cast<std::size_t>(next - numbers.data()));
}

std::uint64_t hash_of(std::span<const std::int64_t> numbers) {
  const auto mix = [](std::uint64_t hash, std::uint64_t number) {
    // An odd multiplier, so that no bit is lost; the shift brings the upper ones down.
    hash = (hash ^ number) * 0x9E3779B97F4A7C15;
    return hash ^ hash >> 29;
  };
  // Four chains, for each step of one waits for the step before it.
  std::array<std::uint64_t, 4> hashes{numbers.size(), 1, 2, 3};
  std::size_t n = 0;
  for (; n + hashes.size() <= numbers.size(); n += hashes.size()) {
    for (std::size_t chain = 0; chain < hashes.size(); ++chain)
      hashes[chain] = mix(hashes[chain], static_cast<std::uint64_t>(numbers[n + chain]));
  }
  for (; n < numbers.size(); ++n) hashes[0] = mix(hashes[0], static_cast<std::uint64_t>(numbers[n]));
  for (std::size_t chain = 1; chain < hashes.size(); ++chain) hashes[0] = mix(hashes[0], hashes[chain]);
  return hashes[0];
}

}  // namespace dhpvm::offload
