// SPDX-License-Identifier: Apache-2.0
#include "offload/memory/buffer.h"

#include "offload/memory/buffer_pool.h"

namespace dhpvm::offload {

void Buffer::close() {
  // Before the reference goes: the buffer may be reclaimed by whoever drops the last one.
  closed_.store(true, std::memory_order_relaxed);
  pool_->note_closed(capacity_);
  drop_reference();
}

void Buffer::drop_reference() {
  // Release and acquire: what every user did with the data happens before its memory is given away.
  if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) pool_->reclaim(this);
}

std::uint32_t Buffer::uses() const {
  const std::uint32_t references = references_.load(std::memory_order_relaxed);
  return closed_.load(std::memory_order_relaxed) || references == 0 ? references : references - 1;
}

}  // namespace dhpvm::offload
