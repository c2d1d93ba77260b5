// SPDX-License-Identifier: Apache-2.0
#include "offload/remote/worker/staging.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace dhpvm::offload {

StagingBlock::~StagingBlock() { pool_->give_back(index_); }

MutableBytes StagingBlock::bytes(std::size_t count) const {
  return {pool_->memory_ + index_ * pool_->size_.block_bytes, count};
}

MemorySpan StagingBlock::span(std::size_t count) const {
  return {pool_->imported_, index_ * pool_->size_.block_bytes, count};
}

Result<std::shared_ptr<StagingPool>> StagingPool::create(Device& device, Size size,
                                                         std::function<void()> freed) {
  const std::shared_ptr<StagingPool> pool(new StagingPool(size, std::move(freed)));
  const std::size_t bytes = pool->bytes();
  // Pages that are never used take no memory.
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    return error(ErrorCode::kDeviceExhausted, "the worker has no memory for data on its way: {}",
                 std::strerror(errno));
  }
  pool->memory_ = static_cast<std::byte*>(memory);
  DHPVM_ASSIGN(pool->imported_, device.import_host({pool->memory_, bytes}, HostMemory::kPinned));
  for (std::uint32_t index = size.blocks; index-- > 0;) pool->free_.push_back(index);
  return pool;
}

StagingPool::~StagingPool() {
  imported_.reset();
  if (memory_ != nullptr) munmap(memory_, bytes());
}

std::shared_ptr<StagingBlock> StagingPool::take() {
  const std::lock_guard lock(mutex_);
  if (free_.empty()) return nullptr;
  const std::uint32_t index = free_.back();
  free_.pop_back();
  return std::make_shared<StagingBlock>(shared_from_this(), index);
}

std::shared_ptr<StagingBlock> StagingPool::take(std::uint32_t first, std::uint32_t count) {
  const std::lock_guard lock(mutex_);
  for (std::uint32_t index = first; index - first < count; ++index) {
    if (std::erase(free_, index) != 0) return std::make_shared<StagingBlock>(shared_from_this(), index);
  }
  return nullptr;
}

void StagingPool::give_back(std::uint32_t index) {
  {
    const std::lock_guard lock(mutex_);
    free_.push_back(index);
  }
  freed_();
}

}  // namespace dhpvm::offload
