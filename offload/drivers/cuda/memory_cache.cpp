// SPDX-License-Identifier: Apache-2.0
#include "offload/drivers/cuda/memory_cache.h"

#include <algorithm>

namespace dhpvm::offload {
namespace {

// The driver allocates in this unit; smaller sizes are rounded to its alignment.
constexpr std::size_t kLargeUnit = std::size_t{2} << 20;
constexpr std::size_t kSmallUnit = 512;

}  // namespace

std::size_t CudaMemoryCache::round(std::size_t bytes) {
  const std::size_t unit = bytes >= kLargeUnit / 2 ? kLargeUnit : kSmallUnit;
  return std::max<std::size_t>((bytes + unit - 1) / unit * unit, kSmallUnit);
}

Result<cu::Address> CudaMemoryCache::allocate(std::size_t bytes) {
  const std::size_t rounded = round(bytes);
  {
    const std::lock_guard lock(mutex_);
    // Take the latest of that size: memory that was used last may still be in the device's caches.
    const auto found = std::find_if(free_.rbegin(), free_.rend(),
                                    [rounded](const Block& block) { return block.bytes == rounded; });
    if (found != free_.rend()) {
      const cu::Address address = found->address;
      kept_ -= rounded;
      free_.erase(std::next(found).base());
      return address;
    }
  }
  cu::Address address = 0;
  cu::Code code = api_.MemAlloc(&address, rounded);
  if (code == cu::CUDA_ERROR_OUT_OF_MEMORY) {
    shrink(0);
    code = api_.MemAlloc(&address, rounded);
  }
  if (code != cu::CUDA_SUCCESS) return api_.error_of(code, "cuMemAlloc");
  return address;
}

void CudaMemoryCache::release(cu::Address address, std::size_t bytes) {
  {
    const std::lock_guard lock(mutex_);
    free_.push_back({address, round(bytes)});
    kept_ += round(bytes);
    if (kept_ <= most_) return;
  }
  shrink(most_);
}

void CudaMemoryCache::shrink(std::size_t bytes) {
  while (true) {
    Block oldest;
    {
      const std::lock_guard lock(mutex_);
      if (kept_ <= bytes) return;
      oldest = free_.front();
      free_.pop_front();
      kept_ -= oldest.bytes;
    }
    // Without the mutex: this may take as long as the longest kernel.
    api_.MemFree(oldest.address);
  }
}

}  // namespace dhpvm::offload
