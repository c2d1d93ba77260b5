// SPDX-License-Identifier: Apache-2.0
// The blocks of a heap: which exist, which hold objects, which have room, and their mark bytes.
//
// Between two collections the allocator takes blocks from here: first queued ones, which hold live objects
// and holes, then empty ones. Blocks taken are "touched". Only touched blocks can hold young objects, so only
// their free space can change in a minor collection. A minor collection leaves them unswept: each is swept when an
// allocation looks for room, so that the pause does not grow with their number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/reservation_pool.h"
#include "base/thread_pool.h"
#include "dhpvm/result.h"
#include "gc/layout.h"
#include "gc/mark_bytes.h"
#include "gc/object.h"

namespace dhpvm::gc {

using BlockIndex = std::uint32_t;

class BlockSpace {
 public:
  BlockSpace() = default;
  ~BlockSpace();
  BlockSpace(const BlockSpace&) = delete;
  BlockSpace& operator=(const BlockSpace&) = delete;

  // Reserves `bytes` of address space, or as much of it as the system grants; kOutOfMemory if that is not
  // even a few blocks. With `scribble`, memory found free by a collection is filled with 0xDB. `pool` may be null, and
  // otherwise outlives the space.
  Status reserve(std::size_t bytes, bool scribble, ReservationPool* pool);

  std::byte* base() const { return memory_.data(); }
  std::uint8_t* marks() const { return reinterpret_cast<std::uint8_t*>(mark_memory_.data()); }
  std::size_t reserved_bytes() const { return memory_.size(); }

  bool contains(const void* address) const {
    return static_cast<std::size_t>(static_cast<const std::byte*>(address) - base()) < memory_.size();
  }
  std::uint8_t* mark_of(const Object* object) const { return marks() + offset_of(object) / kGranule; }
  // The bounds of the blocks and their mark bytes, as values that a loop can keep in registers.
  class View {
   public:
    View(const std::byte* base, std::size_t size, std::uint8_t* marks)
        : base_(base), size_(size), marks_(marks) {}
    bool contains(const Object* object) const { return offset_of(object) < size_; }
    // Only for objects in blocks.
    std::uint8_t* mark_of(const Object* object) const { return marks_ + offset_of(object) / kGranule; }

   private:
    std::size_t offset_of(const Object* object) const {
      return static_cast<std::size_t>(reinterpret_cast<const std::byte*>(object) - base_);
    }
    const std::byte* base_;
    std::size_t size_;
    std::uint8_t* marks_;
  };
  View view() const { return {base(), memory_.size(), marks()}; }
  std::byte* address_of(BlockIndex block) const { return base() + block * kBlockSize; }
  const std::uint8_t* marks_of(BlockIndex block) const { return marks() + block * kGranulesPerBlock; }

  // The next queued block of a size class, swept.
  std::optional<BlockIndex> take_queued(unsigned size_class);
  // An unswept block of any class that turns out to be empty. None only when no block is unswept.
  std::optional<BlockIndex> take_emptied(unsigned size_class);
  // A block of another class's queue that is at least half free and has a hole of `size` bytes. Looks at few blocks,
  // and at each only once per cycle: in a heap full of small holes none would do.
  std::optional<BlockIndex> take_roomy(unsigned size_class, std::size_t size);
  // A block that costs memory: a sparse one with a hole of `size` bytes, or else an empty one. None when the
  // reservation is used up.
  std::optional<BlockIndex> take_fresh(unsigned size_class, std::size_t size);
  // Whether the block's memory is known to be zero. Taking clears this for the next time.
  bool take_zeroed(BlockIndex block);

  // Collection. All marks cleared before a full one, by the threads of `pool` if there is one:
  void clear_marks(ThreadPool* pool);
  // After marking. Minor: queues the touched blocks unswept; `marked` granules were marked in them. Full: recounts the
  // free space of all blocks and rebuilds the queues.
  void finish_minor(std::size_t marked);
  void finish_full(ThreadPool* pool);
  // Sweeps all unswept blocks, so that the figures below are exact.
  void sweep_all();
  // Whether finish_minor() and finish_full() also queue blocks with little room: for a heap near its limit.
  void sweep_thoroughly(bool thoroughly) { thoroughly_ = thoroughly; }
  // Right after a collection: gives the free pages inside queued blocks back to the system. These blocks become
  // sparse.
  void release_pages();
  // Also right after a collection: gives all empty blocks back to the system.
  void release_empty();

  bool holds_objects(BlockIndex block) const { return info(block).state != State::kFree; }
  bool is_touched(BlockIndex block) const { return info(block).state == State::kTouched; }
  // All blocks that ever held objects have lower indices.
  BlockIndex high_water() const { return high_water_; }

  // Bytes of the blocks that hold objects, and of unswept ones, without the pages given back.
  std::size_t used_bytes() const { return used_blocks_ * kBlockSize - released_pages_ * kPageSize; }
  // Bytes of all blocks, including those that are empty for now.
  std::size_t resident_bytes() const { return written_blocks_ * kBlockSize - released_pages_ * kPageSize; }
  std::size_t peak_used_bytes() const { return peak_used_bytes_; }
  // Bytes that marked objects cover, as of the last collection.
  std::size_t live_bytes() const { return (live_granules_ + unswept_granules_) * kGranule; }

 private:
  enum class State : std::uint8_t {
    kFree,     // holds nothing
    kQueued,   // in its class's queue
    kUnswept,  // in its class's queue, with free_granules as of the collection before
    kTouched,  // in touched_: an allocation area has used it since the last collection
    kDense,    // too full to be worth sweeping before the next full collection
    kSparse,   // some of its pages were given back, so that using them again costs memory
  };
  // Blocks of one size class that have room. The next one to take is at the back.
  struct Queue {
    std::vector<BlockIndex> blocks;  // some may have been taken meanwhile: is_in() tells
    std::size_t offered = 0;         // how many of the first ones have been offered to other classes
  };
  struct Info {
    std::uint16_t free_granules;  // as of the last collection that looked at the block
    std::uint16_t released;       // a bit for each page given back
    State state;
    std::uint8_t size_class;
    bool written;              // may hold something other than zeros
    std::uint8_t idle_cycles;  // full collections for which the block has been free
  };

  Info& info(BlockIndex block) const { return reinterpret_cast<Info*>(info_memory_.data())[block]; }
  std::size_t offset_of(const Object* object) const {
    return static_cast<std::size_t>(reinterpret_cast<const std::byte*>(object) - base());
  }
  void touch(BlockIndex block, unsigned size_class);
  bool is_in(BlockIndex block, unsigned size_class) const {
    const Info& of = info(block);
    return (of.state == State::kQueued || of.state == State::kUnswept) && of.size_class == size_class;
  }
  void sweep(BlockIndex block);
  std::optional<BlockIndex> take_sparse(unsigned size_class, std::size_t size);
  std::optional<BlockIndex> take_empty(unsigned size_class);
  BlockIndex take_free(BlockIndex block, unsigned size_class);
  bool release_pages_of(BlockIndex block);
  void forget_released(BlockIndex block);
  void note_peak() { peak_used_bytes_ = used_bytes() > peak_used_bytes_ ? used_bytes() : peak_used_bytes_; }
  void enqueue(BlockIndex block) { queues_[info(block).size_class].blocks.push_back(block); }
  void count_free_of(BlockIndex block);
  void settle(BlockIndex block);
  void discard_idle();
  void discard(BlockIndex first, BlockIndex end);
  void give_back();
  void ask_for_huge_pages(BlockIndex block);
  template <typename Visit>
  void for_each_slice(ThreadPool* pool, Visit&& visit) const;

  ReservationPool* pool_ = nullptr;
  Reservation memory_;
  Reservation mark_memory_;
  Reservation info_memory_;
  bool scribble_ = false;
  bool thoroughly_ = false;
  BlockIndex high_water_ = 0;
  BlockIndex free_hint_ = 0;  // no free block lies below
  std::array<Queue, kSizeClasses> queues_;
  std::vector<BlockIndex> touched_;
  std::vector<BlockIndex> unswept_;  // and some that have been swept meanwhile
  std::vector<BlockIndex> sparse_;
  std::size_t too_large_for_sparse_ = 0;  // no sparse block has a hole of this size; 0: not known
  std::size_t used_blocks_ = 0;
  std::size_t written_blocks_ = 0;
  std::size_t released_pages_ = 0;  // in sparse blocks
  std::size_t peak_used_bytes_ = 0;
  std::size_t live_granules_ = 0;     // in swept blocks; in unswept ones, as of the collection before
  std::size_t unswept_granules_ = 0;  // marked in unswept blocks since then
};

}  // namespace dhpvm::gc
