// SPDX-License-Identifier: Apache-2.0
// Keeps freed device memory for the next allocation of its size: to free it, the driver waits until the whole device is
// idle, which would end all overlap.
#pragma once

#include <cstddef>
#include <deque>
#include <mutex>

#include "offload/drivers/cuda/driver_api.h"

namespace dhpvm::offload {

// Thread-safe. The device's context must be current.
class CudaMemoryCache {
 public:
  // Keeps up to `most` bytes.
  CudaMemoryCache(const cu::Api& api, std::size_t most) : api_(api), most_(most) {}
  ~CudaMemoryCache() { shrink(0); }
  CudaMemoryCache(const CudaMemoryCache&) = delete;
  CudaMemoryCache& operator=(const CudaMemoryCache&) = delete;

  Result<cu::Address> allocate(std::size_t bytes);
  // `bytes`: the size that was passed to allocate(). No operation may still use the memory.
  void release(cu::Address address, std::size_t bytes);

 private:
  struct Block {
    cu::Address address;
    std::size_t bytes;
  };
  static std::size_t round(std::size_t bytes);
  // Frees the oldest blocks until at most `bytes` bytes are kept.
  void shrink(std::size_t bytes);

  const cu::Api& api_;
  const std::size_t most_;
  std::mutex mutex_;
  std::deque<Block> free_;  // oldest first
  std::size_t kept_ = 0;    // bytes of free_
};

}  // namespace dhpvm::offload
