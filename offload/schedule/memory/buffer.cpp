// SPDX-License-Identifier: Apache-2.0
#include "offload/schedule/memory/buffer.h"

#include "offload/schedule/memory/buffer_pool.h"
#include "offload/schedule/memory/pool_chunk.h"

namespace dhpvm::offload {

std::span<std::byte> Buffer::chunk() const { return {chunk_->mapping.data(), chunk_->mapping.size()}; }

void Buffer::close() {
  // Read before the reference is dropped: the thread that drops the last one may reclaim the buffer.
  BufferPool* const pool = pool_;
  closed_.store(true, std::memory_order_relaxed);
  pool->note_closed(capacity_);
  // Unmap only here, not at the end of a use, which may come on a thread of a device: such a thread must not call the
  // device.
  if (drop_reference()) pool->unmap_retired();
}

void Buffer::end_use() { drop_reference(); }

// Returns true if memory may now go back to the system.
bool Buffer::drop_reference() {
  // Release and acquire: everything that users did with the data happens before its memory is reused.
  return references_.fetch_sub(1, std::memory_order_acq_rel) == 1 && pool_->reclaim(this);
}

std::uint32_t Buffer::uses() const {
  const std::uint32_t references = references_.load(std::memory_order_relaxed);
  return closed_.load(std::memory_order_relaxed) || references == 0 ? references : references - 1;
}

}  // namespace dhpvm::offload
