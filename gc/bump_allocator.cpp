// SPDX-License-Identifier: Apache-2.0
#include "gc/bump_allocator.h"

#include <cstring>

#include "gc/poison.h"

namespace dhpvm::gc {

void HoleStream::open(BlockSpace& blocks, BlockIndex block) {
  compute_coverage(blocks.marks_of(block), coverage_);
  block_ = block;
  position_ = 0;
  zeroed_ = blocks.take_zeroed(block);
}

// Holes are zeroed one at a time and just before use: 64 KiB at most, so that the zeros are still in the
// cache when the objects are written over them.
AllocationArea HoleStream::next(BlockSpace& blocks, std::size_t size) {
  const Hole hole = find_hole(coverage_, position_, size / kGranule);
  position_ = hole.end;
  if (hole.granules() == 0) return {};
  AllocationArea area;
  area.cursor = blocks.address_of(block_) + hole.begin * kGranule;
  area.limit = blocks.address_of(block_) + hole.end * kGranule;
  const auto bytes = static_cast<std::size_t>(area.limit - area.cursor);
  unpoison(area.cursor, bytes);
  if (!zeroed_) std::memset(area.cursor, 0, bytes);
  return area;
}

bool BumpAllocator::open_next(HoleStream& stream, AllocationArea& area, std::size_t size) {
  const AllocationArea hole = stream.next(blocks_, size);
  if (hole.cursor == nullptr) return false;
  const auto bytes = static_cast<std::size_t>(hole.limit - hole.cursor);
  used_ += bytes - static_cast<std::size_t>(area.limit - area.cursor);
  opened_ += bytes;
  area = hole;
  return true;
}

std::byte* BumpAllocator::take(AllocationArea& main, std::size_t size) {
  if (std::byte* memory = main.take(size)) return memory;
  if (size <= kMediumThreshold) {
    for (;;) {
      if (open_next(main_holes_, main, size)) break;
      const std::optional<BlockIndex> block = blocks_.take_queued();
      if (!block) return nullptr;
      main_holes_.open(blocks_, *block);
    }
    main_limit_ = main.limit;
    return main.take(size);
  }
  if (std::byte* memory = overflow_.take(size)) return memory;
  for (;;) {
    if (open_next(overflow_holes_, overflow_, size)) return overflow_.take(size);
    const std::optional<BlockIndex> block = blocks_.take_roomy();
    if (!block) return nullptr;
    overflow_holes_.open(blocks_, *block);
  }
}

std::byte* BumpAllocator::take_from_empty(AllocationArea& main, std::size_t size) {
  const std::optional<BlockIndex> block = blocks_.take_empty();
  if (!block) return nullptr;
  if (size > kMediumThreshold) {
    overflow_holes_.open(blocks_, *block);
    open_next(overflow_holes_, overflow_, size);
    return overflow_.take(size);
  }
  main_holes_.open(blocks_, *block);
  open_next(main_holes_, main, size);
  main_limit_ = main.limit;
  return main.take(size);
}

void BumpAllocator::retire(AllocationArea& main) {
  used_ = allocated_bytes(main);
  opened_ = 0;
  main_holes_.close();
  overflow_holes_.close();
  main = {};
  main_limit_ = nullptr;
  overflow_ = {};
}

std::uint64_t BumpAllocator::allocated_bytes(const AllocationArea& main) const {
  return used_ - static_cast<std::size_t>(main_limit_ - main.cursor) -
         static_cast<std::size_t>(overflow_.limit - overflow_.cursor);
}

bool BumpAllocator::is_unused(const AllocationArea& main, const void* address) const {
  return (address >= main.cursor && address < main_limit_) ||
         (address >= overflow_.cursor && address < overflow_.limit);
}

}  // namespace dhpvm::gc
