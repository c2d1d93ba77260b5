// SPDX-License-Identifier: Apache-2.0
// Host memory through which data passes between the network and a device. It is registered with the device once, and
// handed out in blocks.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "offload/devices/device.h"
#include "offload/remote/fabric/transport.h"

namespace dhpvm::offload {

class StagingPool;

// A block, held until its last owner releases it.
class StagingBlock {
 public:
  StagingBlock(std::shared_ptr<StagingPool> pool, std::uint32_t index)
      : pool_(std::move(pool)), index_(index) {}
  ~StagingBlock();
  StagingBlock(const StagingBlock&) = delete;
  StagingBlock& operator=(const StagingBlock&) = delete;

  // The first `bytes` of the block, for network and device.
  MutableBytes bytes(std::size_t count) const;
  MemorySpan span(std::size_t count) const;

 private:
  const std::shared_ptr<StagingPool> pool_;
  const std::uint32_t index_;
};

// Thread-safe.
class StagingPool : public std::enable_shared_from_this<StagingPool> {
 public:
  static constexpr std::size_t kBlockBytes = 1 << 20;
  struct Size {
    std::uint32_t blocks = 1;
    std::size_t block_bytes = kBlockBytes;
  };

  // May block while memory is registered. `freed` is called when a block is free again, on any thread.
  static Result<std::shared_ptr<StagingPool>> create(Device& device, Size size, std::function<void()> freed);
  ~StagingPool();

  // Null when all are in use.
  std::shared_ptr<StagingBlock> take();
  // The first free block among these; null when there is none.
  std::shared_ptr<StagingBlock> take(std::uint32_t first, std::uint32_t count);

 private:
  friend class StagingBlock;
  StagingPool(Size size, std::function<void()> freed) : size_(size), freed_(std::move(freed)) {}
  std::size_t bytes() const { return size_.blocks * size_.block_bytes; }
  void give_back(std::uint32_t index);

  const Size size_;
  const std::function<void()> freed_;
  std::byte* memory_ = nullptr;
  std::shared_ptr<DeviceMemory> imported_;
  std::mutex mutex_;
  std::vector<std::uint32_t> free_;
};

}  // namespace dhpvm::offload
