// SPDX-License-Identifier: Apache-2.0
// The memory of a device as one isolate uses it: blocks that are kept for reuse within a budget, and copies of arrays
// that are evicted when memory runs short.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "offload/devices/device.h"
#include "offload/schedule/pipeline/positions.h"

namespace dhpvm::offload {

class ArrayCopies;
class PipelineDevice;

struct DeviceBlock {
  std::shared_ptr<DeviceMemory> memory;
  std::uint64_t bytes = 0;
  Positions busy;  // the next user waits until then
};

// Used by the thread that uses the device.
class DeviceBlocks {
 public:
  DeviceBlocks(PipelineDevice& device, std::uint64_t budget) : device_(device), budget_(budget) {}

  std::uint64_t budget() const { return budget_; }
  // The memory in use, including blocks that are kept for reuse.
  std::uint64_t allocated_bytes() const { return allocated_bytes_; }
  // The bytes that acquire(bytes) takes from the budget. There are few different sizes, so that blocks of one loop fit
  // the next one.
  static std::uint64_t rounded(std::uint64_t bytes);

  // A block of at least `bytes` bytes: one kept from earlier, a new one, or one freed by evicting copies of arrays that
  // are current elsewhere. kDeviceExhausted if that is not enough.
  Result<DeviceBlock> acquire(std::uint64_t bytes);
  void release(DeviceBlock block);

  // Copies on this device, in the order of their last use, for eviction.
  void add_copy(ArrayCopies& copies) { copies_.push_back(&copies); }
  void touch_copy(ArrayCopies& copies);
  void remove_copy(ArrayCopies& copies) { std::erase(copies_, &copies); }
  // While several devices work on a loop, each on a thread of its own, no copies are evicted, because that would affect
  // other threads.
  void keep_copies(bool keep) { keeps_copies_ = keep; }
  // Fetches what only this device has, and drops its copies. Data that it cannot send any more are lost, which the
  // array reports at each access. Fails, and may be called again, when the waiting is interrupted.
  Status give_up_copies();
  // Drops the copies on this device, whether they are current or not.
  void forget_copies();

 private:
  std::optional<DeviceBlock> take_kept(std::uint64_t bytes);
  Result<bool> free_something();

  PipelineDevice& device_;
  const std::uint64_t budget_;
  std::vector<DeviceBlock> kept_;      // free blocks
  std::uint64_t allocated_bytes_ = 0;  // kept and in use
  std::vector<ArrayCopies*> copies_;
  bool keeps_copies_ = false;
};

}  // namespace dhpvm::offload
