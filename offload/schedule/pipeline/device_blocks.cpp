// SPDX-License-Identifier: Apache-2.0
#include "offload/schedule/pipeline/device_blocks.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/error.h"
#include "offload/schedule/pipeline/array_copies.h"
#include "offload/schedule/pipeline/pipeline_device.h"

namespace dhpvm::offload {

// Rounds up to a quarter of a power of two.
std::uint64_t DeviceBlocks::rounded(std::uint64_t bytes) {
  const std::uint64_t step =
      std::max<std::uint64_t>(std::bit_floor(std::max<std::uint64_t>(bytes, 1)) / 4, 256);
  return (bytes + step - 1) / step * step;
}

Result<DeviceBlock> DeviceBlocks::acquire(std::uint64_t bytes) {
  const std::uint64_t wanted = rounded(bytes);
  for (;;) {
    if (std::optional<DeviceBlock> kept = take_kept(wanted)) return std::move(*kept);
    std::optional<Error> refused;
    if (allocated_bytes_ + wanted <= budget_) {
      auto memory = device_.device().allocate(wanted);
      if (memory.ok()) {
        allocated_bytes_ += wanted;
        return DeviceBlock{std::move(memory).value(), wanted, {}};
      }
      if (memory.error().code() != ErrorCode::kDeviceExhausted)
        return device_.fail(std::move(memory).error());
      refused = std::move(memory).error();
    }
    DHPVM_ASSIGN(const bool freed, free_something());
    if (freed) continue;
    if (refused) return std::move(*refused);
    return error(ErrorCode::kDeviceExhausted,
                 "{} has {} bytes of memory for loops, of which {} are in use, and {} more are needed; raise "
                 "`--device-memory=`, or use smaller batches",
                 device_.info().name, budget_, allocated_bytes_, wanted);
  }
}

std::optional<DeviceBlock> DeviceBlocks::take_kept(std::uint64_t bytes) {
  // Only a block of exactly this size is reused. There are few sizes, so plans need not take larger blocks into
  // account.
  const auto found = std::ranges::find(kept_, bytes, &DeviceBlock::bytes);
  if (found == kept_.end()) return std::nullopt;
  DeviceBlock block = std::move(*found);
  kept_.erase(found);
  return block;
}

void DeviceBlocks::release(DeviceBlock block) {
  if (block.memory != nullptr) kept_.push_back(std::move(block));
}

// Frees memory of the device: first a block that is kept for reuse, then the copy that was used longest ago. False if
// there is nothing to free.
Result<bool> DeviceBlocks::free_something() {
  if (kept_.empty()) {
    if (keeps_copies_) return false;
    const auto victim =
        std::ranges::find_if(copies_, [&](ArrayCopies* copies) { return !copies->is_pinned(); });
    if (victim == copies_.end()) return false;
    DHPVM_TRY((*victim)->evict(device_));
    if (kept_.empty()) return true;
  }
  // Free the largest block: mostly one is enough.
  const auto largest = std::ranges::max_element(kept_, {}, &DeviceBlock::bytes);
  DHPVM_TRY(device_.wait(largest->busy));
  allocated_bytes_ -= largest->bytes;
  kept_.erase(largest);
  return true;
}

Status DeviceBlocks::give_up_copies() {
  while (!copies_.empty()) DHPVM_TRY(copies_.back()->evict(device_));
  return {};
}

void DeviceBlocks::forget_copies() {
  while (!copies_.empty()) copies_.back()->forget(device_);
}

void DeviceBlocks::touch_copy(ArrayCopies& copies) {
  if (!copies_.empty() && copies_.back() == &copies) return;
  remove_copy(copies);
  add_copy(copies);
}

}  // namespace dhpvm::offload
