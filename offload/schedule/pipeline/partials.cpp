// SPDX-License-Identifier: Apache-2.0
#include "offload/schedule/pipeline/partials.h"

#include "bytecode/reduction.h"

namespace dhpvm::offload {

Status Partials::allocate(BufferPool& pool) {
  if (reductions_.empty()) return {};
  blocks_ = reduction_blocks(space_);
  DHPVM_ASSIGN(buffer_, pool.allocate(blocks_ * reductions_.size() * sizeof(std::uint64_t),
                                      BufferContents::kUndefined));
  return {};
}

void Partials::fold(std::span<std::uint64_t> accumulators) const {
  if (buffer_ == nullptr) return;
  const auto* const values = reinterpret_cast<const std::uint64_t*>(buffer_->data());
  const std::size_t width = reductions_.size();
  for (std::uint64_t i = 0; i < blocks_ * width; ++i) {
    std::uint64_t& accumulator = accumulators[i % width];
    accumulator = bytecode::combine(reductions_[i % width], accumulator, values[i]);
  }
}

}  // namespace dhpvm::offload
