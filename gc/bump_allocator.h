// SPDX-License-Identifier: Apache-2.0
// Finds holes for bump allocation: the lazy sweep.
//
// The main area serves small objects; its holes may be as small as a granule, so getting from one to the next
// has to be cheap. Medium objects have an area per size class.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "gc/block_space.h"
#include "gc/layout.h"
#include "gc/mark_bytes.h"

namespace dhpvm::gc {

// Free, zeroed memory. Compiled code reads and writes these two fields: their order is fixed.
struct AllocationArea {
  std::byte* cursor = nullptr;
  std::byte* limit = nullptr;

  std::size_t left() const { return static_cast<std::size_t>(limit - cursor); }
  std::byte* take(std::size_t size) {
    if (size > left()) return nullptr;
    std::byte* memory = cursor;
    cursor += size;
    return memory;
  }
};

class BumpAllocator {
 public:
  explicit BumpAllocator(BlockSpace& blocks) : blocks_(blocks) {}

  // The main area may be disarmed, its limit set to its cursor, so that every allocation takes the slow path;
  // this puts the real limit back.
  void rearm(AllocationArea& main) const { main.limit = main_limit_; }

  // `size` bytes for a small object, from the holes already open. The main area must be armed.
  std::byte* take_open(AllocationArea& main, std::size_t size) {
    if (std::byte* memory = main.take(size)) return memory;
    const std::size_t granules = size / kGranule;
    while (next_hole_ < hole_count_) {
      const ShortHole hole = holes_[next_hole_++];
      wasted_ += main.left();
      main.cursor = block_ + hole.begin * kGranule;
      main.limit = main_limit_ = block_ + hole.end * kGranule;
      if (hole.end - hole.begin >= static_cast<int>(granules)) return main.take(size);
    }
    return nullptr;
  }

  // The same for objects of any class, going on to partly filled blocks. Null if they have no room.
  std::byte* take(AllocationArea& main, std::size_t size);
  // The same from a block whose use costs memory; null if there is none.
  std::byte* take_from_fresh(AllocationArea& main, std::size_t size);

  // Before a collection: closes all areas.
  void retire(AllocationArea& main);

  // Bytes of the holes opened since the last retire().
  std::size_t opened_bytes() const { return opened_; }
  // The same without the holes that were skipped because they were too small.
  std::size_t consumed_bytes() const { return opened_ - static_cast<std::size_t>(wasted_ - wasted_before_); }
  // Bytes handed out since creation.
  std::uint64_t allocated_bytes(const AllocationArea& main) const;
  // Whether the address lies in open but unused memory: no object can be there.
  bool is_unused(const AllocationArea& main, const void* address) const;

 private:
  struct ShortHole {  // in granules of a block
    std::uint16_t begin;
    std::uint16_t end;
  };
  // Medium objects of one size class.
  struct MediumArea {
    AllocationArea area;
    Coverage coverage;
    BlockIndex block = 0;
    std::size_t position = kGranulesPerBlock;  // where to look for the next hole
    bool zeroed = false;
  };

  void open_small(AllocationArea& main, BlockIndex block);
  void open_medium(MediumArea& medium, BlockIndex block);
  std::byte* take_medium(MediumArea& medium, std::size_t size);

  BlockSpace& blocks_;

  std::byte* main_limit_ = nullptr;
  std::byte* block_ = nullptr;  // of the main area
  std::uint32_t next_hole_ = 0;
  std::uint32_t hole_count_ = 0;
  std::array<ShortHole, kGranulesPerBlock / 2> holes_;  // of the main area's block, zeroed

  std::array<MediumArea, kSizeClasses - 1> mediums_;

  std::size_t opened_ = 0;
  std::uint64_t total_opened_ = 0;   // since creation, up to the last retire()
  std::uint64_t wasted_ = 0;         // since creation: in holes that were opened and skipped
  std::uint64_t wasted_before_ = 0;  // the part of it before the last retire()
};

}  // namespace dhpvm::gc
