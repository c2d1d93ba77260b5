// SPDX-License-Identifier: Apache-2.0
// The iteration space of a `parallel for`, and how it is cut into pieces. Every piece is a box of consecutive
// iterations, in iteration order (the last dimension runs fastest), so that pieces can be numbered in that
// order.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

namespace dhpvm::offload {

struct IterationSpace {
  unsigned dimensions = 1;  // 1 to 3
  std::array<std::int64_t, 3> low = {};
  std::array<std::int64_t, 3> high = {};  // exclusive

  // Iterations along dimension `d`; 0 when its bounds are the wrong way round.
  std::uint64_t extent(unsigned d) const {
    return high[d] > low[d] ? static_cast<std::uint64_t>(high[d]) - static_cast<std::uint64_t>(low[d]) : 0;
  }
  unsigned inner() const { return dimensions - 1; }
  bool empty() const;
  // The number of iterations; nothing if there are 2^63 or more. The other functions here want spaces that have
  // a count, and are not empty.
  std::optional<std::uint64_t> count() const;
};

// The number of partial results of a reduction over the space: one for each block of bytecode::kReductionBlock
// iterations of the innermost dimension.
std::uint64_t reduction_blocks(const IterationSpace& space);

// A space cut into chunks of about the same size: runs along one dimension, with all of the dimensions inside
// it and a single index of those around it.
class Chunking {
 public:
  // At most `iterations` in a chunk (at least 1), but never less than `unit` along the innermost dimension
  // unless that ends first; a cut along it lies a multiple of `unit` behind the low bound.
  Chunking(const IterationSpace& space, std::uint64_t iterations, std::uint64_t unit);

  std::uint64_t count() const { return count_; }
  // Chunk `index`, below count().
  IterationSpace chunk(std::uint64_t index) const;
  // Rows of the innermost dimension are cut into blocks of `unit` iterations, the last one of a row being
  // what is left; this is how many blocks lie before chunk `index`, which may be count().
  std::uint64_t blocks_before(std::uint64_t index) const;

 private:
  IterationSpace space_;
  std::uint64_t unit_;
  unsigned cut_ = 0;            // the dimension
  std::uint64_t length_ = 1;    // of a chunk along it
  std::uint64_t per_line_ = 1;  // chunks along it
  std::uint64_t count_ = 1;
};

// The rest of an iteration space, for an executor that takes box after box from its front.
class RemainingSpace {
 public:
  explicit RemainingSpace(const IterationSpace& space) : boxes_{space}, count_(space.empty() ? 0 : 1) {}

  bool empty() const { return count_ == 0; }
  // The box that the next pieces come from. Not when empty().
  const IterationSpace& front() const { return boxes_[count_ - 1]; }
  // The first iterations, as a box of at most `iterations` under the rules of Chunking, and removes them. Not
  // when empty().
  IterationSpace take(std::uint64_t iterations, std::uint64_t unit);

 private:
  // A box taken from the front leaves the rest of its row, of its plane, and of the space; the front is
  // the last.
  std::array<IterationSpace, 4> boxes_;
  unsigned count_;
};

}  // namespace dhpvm::offload
