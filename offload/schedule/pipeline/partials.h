// SPDX-License-Identifier: Apache-2.0
// The partial results of one execution of a loop with reductions: one register for each reduction and each block of the
// innermost dimension, wherever the blocks are computed.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "dhpvm/result.h"
#include "offload/loops/loop.h"
#include "offload/schedule/memory/buffer.h"
#include "offload/schedule/memory/buffer_pool.h"

namespace dhpvm::offload {

// Used by one thread.
class Partials {
 public:
  explicit Partials(const Loop& loop)
      : space_(loop.space), reductions_(loop.reductions.begin(), loop.reductions.end()) {}
  ~Partials() {
    if (buffer_ != nullptr) buffer_->close();
  }
  Partials(const Partials&) = delete;
  Partials& operator=(const Partials&) = delete;

  // Allocates memory for all blocks; none without reductions.
  Status allocate(BufferPool& pool);
  // In the order of iterations; null without reductions. Lives as long as this object.
  Buffer* buffer() const { return buffer_; }
  // Combines all blocks with the initial values in `accumulators`, one for each reduction, in the order of iterations.
  void fold(std::span<std::uint64_t> accumulators) const;

 private:
  const IterationSpace space_;
  const std::vector<bytecode::Reduction> reductions_;
  Buffer* buffer_ = nullptr;
  std::uint64_t blocks_ = 0;
};

}  // namespace dhpvm::offload
