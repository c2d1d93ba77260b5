// SPDX-License-Identifier: Apache-2.0
// Finds holes for bump allocation: the lazy sweep.
//
// Two areas are open at a time. The main one serves small objects (and medium ones that happen to fit), hole
// after hole. The overflow area serves medium objects, so that they do not make the main area give up its
// holes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "gc/block_space.h"
#include "gc/layout.h"
#include "gc/mark_bytes.h"

namespace dhpvm::gc {

// Free, zeroed memory. Compiled code reads and writes these two fields: their order is fixed.
struct AllocationArea {
  std::byte* cursor = nullptr;
  std::byte* limit = nullptr;

  std::byte* take(std::size_t size) {
    if (size > static_cast<std::size_t>(limit - cursor)) return nullptr;
    std::byte* memory = cursor;
    cursor += size;
    return memory;
  }
};

// The holes of one block, in order.
class HoleStream {
 public:
  void open(BlockSpace& blocks, BlockIndex block);
  // A zeroed hole of at least `size` bytes; empty if the block has none left.
  AllocationArea next(BlockSpace& blocks, std::size_t size);
  void close() { position_ = kGranulesPerBlock; }

 private:
  Coverage coverage_;
  BlockIndex block_ = 0;
  std::size_t position_ = kGranulesPerBlock;
  bool zeroed_ = false;
};

class BumpAllocator {
 public:
  explicit BumpAllocator(BlockSpace& blocks) : blocks_(blocks) {}

  // The main area may be disarmed, its limit set to its cursor, so that every allocation takes the slow path;
  // this puts the real limit back.
  void rearm(AllocationArea& main) const { main.limit = main_limit_; }

  // `size` bytes from what is open, or from holes of queued blocks, or null. The main area must be armed.
  std::byte* take(AllocationArea& main, std::size_t size);
  // The same from an empty block; null when there is none.
  std::byte* take_from_empty(AllocationArea& main, std::size_t size);

  // Before a collection: closes both areas.
  void retire(AllocationArea& main);

  // Bytes of the holes opened since the last retire().
  std::size_t opened_bytes() const { return opened_; }
  // Bytes handed out since creation.
  std::uint64_t allocated_bytes(const AllocationArea& main) const;
  // Whether the address lies in open but unused memory: no object can be there.
  bool is_unused(const AllocationArea& main, const void* address) const;

 private:
  bool open_next(HoleStream& stream, AllocationArea& area, std::size_t size);

  BlockSpace& blocks_;
  std::byte* main_limit_ = nullptr;
  AllocationArea overflow_;
  HoleStream main_holes_;
  HoleStream overflow_holes_;
  std::size_t opened_ = 0;
  std::uint64_t used_ = 0;  // opened since creation, less what was left when an area moved on
};

}  // namespace dhpvm::gc
