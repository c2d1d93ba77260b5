// SPDX-License-Identifier: Apache-2.0
#include "offload/loops/iteration_space.h"

#include <algorithm>

#include "bytecode/module.h"

namespace dhpvm::offload {
namespace {

std::uint64_t divide_up(std::uint64_t a, std::uint64_t b) { return a / b + (a % b != 0 ? 1 : 0); }

std::int64_t advance(std::int64_t value, std::uint64_t by) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(value) + by);
}

}  // namespace

bool IterationSpace::empty() const {
  for (unsigned d = 0; d < dimensions; ++d) {
    if (extent(d) == 0) return true;
  }
  return false;
}

std::optional<std::uint64_t> IterationSpace::count() const {
  if (empty()) return 0;
  std::uint64_t total = 1;
  for (unsigned d = 0; d < dimensions; ++d) {
    if (__builtin_mul_overflow(total, extent(d), &total) || total >> 63 != 0) return std::nullopt;
  }
  return total;
}

std::uint64_t reduction_blocks(const IterationSpace& space) {
  std::uint64_t blocks = divide_up(space.extent(space.inner()), bytecode::kReductionBlock);
  for (unsigned d = 0; d < space.inner(); ++d) blocks *= space.extent(d);
  return blocks;
}

Chunking::Chunking(const IterationSpace& space, std::uint64_t iterations, std::uint64_t unit)
    : space_(space), unit_(unit), cut_(space.inner()) {
  // Outwards, as long as a whole line of the dimension fits into a chunk.
  std::uint64_t inside = 1;
  while (cut_ > 0 && iterations / inside >= space.extent(cut_)) inside *= space.extent(cut_--);
  length_ = std::clamp<std::uint64_t>(iterations / inside, 1, space.extent(cut_));
  if (cut_ == space.inner() && length_ < space.extent(cut_))
    length_ = std::min(std::max(length_ - length_ % unit, unit), space.extent(cut_));
  per_line_ = divide_up(space.extent(cut_), length_);
  count_ = per_line_;
  for (unsigned d = 0; d < cut_; ++d) count_ *= space.extent(d);
}

IterationSpace Chunking::chunk(std::uint64_t index) const {
  IterationSpace box = space_;
  const std::uint64_t begin = index % per_line_ * length_;
  box.low[cut_] = advance(space_.low[cut_], begin);
  box.high[cut_] = advance(box.low[cut_], std::min(length_, space_.extent(cut_) - begin));
  index /= per_line_;
  for (unsigned d = cut_; d-- > 0;) {
    box.low[d] = advance(space_.low[d], index % space_.extent(d));
    box.high[d] = box.low[d] + 1;
    index /= space_.extent(d);
  }
  return box;
}

std::uint64_t Chunking::blocks_before(std::uint64_t index) const {
  const std::uint64_t lines = index / per_line_;
  const std::uint64_t along = std::min(index % per_line_ * length_, space_.extent(cut_));
  if (cut_ == space_.inner()) return lines * divide_up(space_.extent(cut_), unit_) + along / unit_;
  std::uint64_t rows = lines * space_.extent(cut_) + along;
  for (unsigned d = cut_ + 1; d < space_.inner(); ++d) rows *= space_.extent(d);
  return rows * divide_up(space_.extent(space_.inner()), unit_);
}

IterationSpace RemainingSpace::take(std::uint64_t iterations, std::uint64_t unit) {
  const IterationSpace box = boxes_[--count_];
  const IterationSpace first = Chunking(box, iterations, unit).chunk(0);
  // The rest of the outermost dimension comes last, so it goes in first.
  IterationSpace rest = box;
  for (unsigned d = 0; d < box.dimensions; ++d) {
    if (first.high[d] < box.high[d]) {
      rest.low[d] = first.high[d];
      boxes_[count_++] = rest;
    }
    rest.low[d] = first.low[d];
    rest.high[d] = first.high[d];
  }
  return first;
}

}  // namespace dhpvm::offload
