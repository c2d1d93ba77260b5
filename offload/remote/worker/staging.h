// SPDX-License-Identifier: Apache-2.0
// Host memory through which data passes between the network and a device: registered with the device once,
// and handed out in blocks.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "offload/devices/device.h"
#include "offload/remote/fabric/transport.h"

namespace dhpvm::offload {

class StagingPool;

// A block, until its last owner lets go of it.
class StagingBlock {
 public:
  StagingBlock(std::shared_ptr<StagingPool> pool, std::uint32_t index)
      : pool_(std::move(pool)), index_(index) {}
  ~StagingBlock();
  StagingBlock(const StagingBlock&) = delete;
  StagingBlock& operator=(const StagingBlock&) = delete;

  // The first `bytes` of the block, for the network and for the device.
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

  // May block while memory is registered. `freed` is called when a block is free again, on any thread.
  static Result<std::shared_ptr<StagingPool>> create(Device& device, std::uint32_t blocks,
                                                     std::function<void()> freed);
  ~StagingPool();

  // Null when all are in use.
  std::shared_ptr<StagingBlock> take();

 private:
  friend class StagingBlock;
  StagingPool(std::uint32_t blocks, std::function<void()> freed);
  void give_back(std::uint32_t index);

  const std::uint32_t blocks_;
  const std::function<void()> freed_;
  std::byte* memory_ = nullptr;
  std::shared_ptr<DeviceMemory> imported_;
  std::mutex mutex_;
  std::vector<std::uint32_t> free_;
};

}  // namespace dhpvm::offload
