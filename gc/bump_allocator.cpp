// SPDX-License-Identifier: Apache-2.0
#include "gc/bump_allocator.h"

#include <cstring>
#include <type_traits>

#include "gc/poison.h"

namespace dhpvm::gc {
namespace {

// Most holes are short, and a call for each would cost more than the stores: two blocks of fixed size
// that overlap in the middle cover any length between one and two such blocks. A loop would be turned
// back into the call.
inline void zero(std::byte* start, std::size_t bytes) {
  const auto ends = [=](auto size) {
    std::memset(start, 0, size());
    std::memset(start + bytes - size(), 0, size());
  };
  if (bytes <= 16) return ends(std::integral_constant<std::size_t, 8>());
  if (bytes <= 32) return ends(std::integral_constant<std::size_t, 16>());
  if (bytes <= 64) return ends(std::integral_constant<std::size_t, 32>());
  if (bytes <= 128) return ends(std::integral_constant<std::size_t, 64>());
  if (bytes <= 256) return ends(std::integral_constant<std::size_t, 128>());
  std::memset(start, 0, bytes);
}

}  // namespace

// Lists and zeroes all holes of the block in one pass: the loop runs ahead of its cache misses, which an
// allocation that opens one hole at a time cannot. The block fits into the second-level cache, so the
// zeros are still there when the objects are written over them.
void BumpAllocator::open_small(AllocationArea& main, BlockIndex block) {
  wasted_ += main.left();
  main = {};
  main_limit_ = nullptr;
  std::byte* const start_of_block = block_ = blocks_.address_of(block);
  const bool zeroed = blocks_.take_zeroed(block);
  Coverage coverage;
  compute_coverage(blocks_.marks_of(block), coverage);
  std::uint32_t count = 0;
  std::size_t opened = 0;
  for_each_hole(coverage, [&](Hole hole) {
    std::byte* start = start_of_block + hole.begin * kGranule;
    const std::size_t bytes = hole.granules() * kGranule;
    unpoison(start, bytes);
    if (!zeroed) zero(start, bytes);
    opened += bytes;
    holes_[count++] = {static_cast<std::uint16_t>(hole.begin), static_cast<std::uint16_t>(hole.end)};
  });
  next_hole_ = 0;
  hole_count_ = count;
  opened_ += opened;
}

void BumpAllocator::open_medium(MediumArea& medium, BlockIndex block) {
  compute_coverage(blocks_.marks_of(block), medium.coverage);
  medium.block = block;
  medium.position = 0;
  medium.zeroed = blocks_.take_zeroed(block);
}

// Takes memory from the current hole, or from the next hole of the area's block that is large enough.
std::byte* BumpAllocator::take_medium(MediumArea& medium, std::size_t size) {
  if (std::byte* memory = medium.area.take(size)) return memory;
  const Hole hole = find_hole(medium.coverage, medium.position, size / kGranule);
  medium.position = hole.end;
  if (hole.granules() == 0) return nullptr;
  wasted_ += medium.area.left();
  medium.area.cursor = blocks_.address_of(medium.block) + hole.begin * kGranule;
  medium.area.limit = blocks_.address_of(medium.block) + hole.end * kGranule;
  const std::size_t bytes = medium.area.left();
  unpoison(medium.area.cursor, bytes);
  if (!medium.zeroed) std::memset(medium.area.cursor, 0, bytes);
  opened_ += bytes;
  return medium.area.take(size);
}

std::byte* BumpAllocator::take(AllocationArea& main, std::size_t size) {
  const unsigned size_class = size_class_of(size);
  const auto next_block = [&] {
    std::optional<BlockIndex> block = blocks_.take_queued(size_class);
    if (!block) block = blocks_.take_roomy(size_class, size);
    if (!block) block = blocks_.take_emptied(size_class);
    return block;
  };
  if (size_class == 0) {
    for (;;) {
      if (std::byte* memory = take_open(main, size)) return memory;
      const std::optional<BlockIndex> block = next_block();
      if (!block) return nullptr;
      open_small(main, *block);
    }
  }
  MediumArea& medium = mediums_[size_class - 1];
  for (;;) {
    if (std::byte* memory = take_medium(medium, size)) return memory;
    const std::optional<BlockIndex> block = next_block();
    if (!block) return nullptr;
    open_medium(medium, *block);
  }
}

std::byte* BumpAllocator::take_from_fresh(AllocationArea& main, std::size_t size) {
  const unsigned size_class = size_class_of(size);
  const std::optional<BlockIndex> block = blocks_.take_fresh(size_class, size);
  if (!block) return nullptr;
  if (size_class == 0) {
    open_small(main, *block);
    return take_open(main, size);
  }
  open_medium(mediums_[size_class - 1], *block);
  return take_medium(mediums_[size_class - 1], size);
}

void BumpAllocator::retire(AllocationArea& main) {
  wasted_ = wasted_before_ = total_opened_ + opened_ - allocated_bytes(main);
  total_opened_ += opened_;
  opened_ = 0;
  next_hole_ = hole_count_ = 0;
  main = {};
  main_limit_ = nullptr;
  for (MediumArea& medium : mediums_) {
    medium.area = {};
    medium.position = kGranulesPerBlock;
  }
}

std::uint64_t BumpAllocator::allocated_bytes(const AllocationArea& main) const {
  std::uint64_t unused = wasted_ + static_cast<std::size_t>(main_limit_ - main.cursor);
  for (std::uint32_t i = next_hole_; i < hole_count_; ++i)
    unused += (holes_[i].end - holes_[i].begin) * kGranule;
  for (const MediumArea& medium : mediums_) unused += medium.area.left();
  return total_opened_ + opened_ - unused;
}

bool BumpAllocator::is_unused(const AllocationArea& main, const void* address) const {
  if (address >= main.cursor && address < main_limit_) return true;
  for (const MediumArea& medium : mediums_) {
    if (address >= medium.area.cursor && address < medium.area.limit) return true;
  }
  for (std::uint32_t i = next_hole_; i < hole_count_; ++i) {
    if (address >= block_ + holes_[i].begin * kGranule && address < block_ + holes_[i].end * kGranule)
      return true;
  }
  return false;
}

}  // namespace dhpvm::gc
