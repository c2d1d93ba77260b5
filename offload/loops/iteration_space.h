// SPDX-License-Identifier: Apache-2.0
// The iteration space of a `parallel for`, and how it is cut into pieces. Every piece is a box of iterations that are
// consecutive in iteration order, in which the last dimension runs fastest. Pieces are numbered in that order.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

namespace dhpvm::offload {

struct IterationSpace {
  unsigned dimensions = 1;  // 1 to 3
  std::array<std::int64_t, 3> low = {};
  std::array<std::int64_t, 3> high = {};  // exclusive

  // Iterations along dimension `d`; 0 if its upper bound is below the lower one.
  std::uint64_t extent(unsigned d) const {
    return high[d] > low[d] ? static_cast<std::uint64_t>(high[d]) - static_cast<std::uint64_t>(low[d]) : 0;
  }
  unsigned inner() const { return dimensions - 1; }
  bool empty() const;
  // The number of iterations; nothing if there are 2^63 or more. All other functions in this file require a space that
  // has a count and is not empty.
  std::optional<std::uint64_t> count() const;
};

// The number of partial results of a reduction over the space: one for each block of bytecode::kReductionBlock
// iterations of the innermost dimension.
std::uint64_t reduction_blocks(const IterationSpace& space);

// A space cut into chunks of about the same size: runs along one dimension, with the full extent of all dimensions
// inside it, and one index of each dimension around it.
class Chunking {
 public:
  // A chunk has at most `iterations` (at least 1) iterations, but at least `unit` along the innermost dimension, or its
  // extent if that is less. Cuts along the innermost dimension are multiples of `unit` behind its low bound.
  Chunking(const IterationSpace& space, std::uint64_t iterations, std::uint64_t unit);

  std::uint64_t count() const { return count_; }
  // Chunk `index`, below count().
  IterationSpace chunk(std::uint64_t index) const;
  // How many blocks lie before chunk `index`, which may be count(). A row of the innermost dimension consists of blocks
  // of `unit` iterations; the last one may be shorter.
  std::uint64_t blocks_before(std::uint64_t index) const;

 private:
  IterationSpace space_;
  std::uint64_t unit_;
  unsigned cut_ = 0;            // the dimension along which the space is cut
  std::uint64_t length_ = 1;    // of a chunk along that dimension
  std::uint64_t per_line_ = 1;  // chunks along that dimension
  std::uint64_t count_ = 1;
};

// The iterations that are left of a space, for an executor that takes one box after the other from its front.
class RemainingSpace {
 public:
  explicit RemainingSpace(const IterationSpace& space) : boxes_{space}, count_(space.empty() ? 0 : 1) {}

  bool empty() const { return count_ == 0; }
  // The box from which the next pieces are taken. Requires !empty().
  const IterationSpace& front() const { return boxes_[count_ - 1]; }
  // Removes and returns the first iterations, as a box of at most `iterations` by the rules of Chunking. Requires
  // !empty().
  IterationSpace take(std::uint64_t iterations, std::uint64_t unit);

 private:
  // A box taken from the front leaves the rest of its row, of its plane, and of the space. The front is the last
  // element in use.
  std::array<IterationSpace, 4> boxes_;
  unsigned count_;
};

}  // namespace dhpvm::offload
