// SPDX-License-Identifier: Apache-2.0
#include "gc/block_space.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/memory_shortage.h"
#include "gc/poison.h"

namespace dhpvm::gc {
namespace {

// Blocks with less free room than this (4 KiB) are not swept until the next full collection: sweeping them costs more
// than the few objects that would fit.
constexpr std::size_t kWorthSweeping = kGranulesPerBlock / 16;

// When memory is scarce, 256 bytes are worth a sweep.
constexpr std::size_t kWorthSweepingThoroughly = 256 / kGranule;

// A class takes another class's block only if half of it is free.
constexpr std::size_t kRoomy = kGranulesPerBlock / 2;
constexpr int kRoomyInspections = 16;
constexpr int kRoomyAttempts = 2;

// The first pages stay small, so that a short program pays neither for zeroing nor for holding 2 MiB at a time.
constexpr std::size_t kSmallPages = 2 * kHugePage;

constexpr std::size_t kMinimumReservation = 16 * kBlockSize;
constexpr std::size_t kBlocksPerHugePage = kHugePage / kBlockSize;
constexpr std::uint8_t kIdleCyclesBeforeDiscard = 2;

// When a heap ends, it clears the marks of up to so many blocks itself, two pages each: that takes less time than
// giving them back to the system and getting them again.
constexpr BlockIndex kMarksCleared = 2;
constexpr int kScribble = 0xDB;

}  // namespace

Status BlockSpace::reserve(std::size_t bytes, bool scribble, ReservationPool* pool) {
  pool_ = pool;
  scribble_ = scribble;
  bool refused = false;
  for (bytes = round_up(std::max(bytes, kMinimumReservation), kHugePage); bytes >= kMinimumReservation;
       bytes = round_up(bytes / 2, kBlockSize)) {
    memory_ = take_reservation(pool, bytes, kHugePage);
    mark_memory_ = take_reservation(pool, bytes / kGranule, kHugePage);
    info_memory_ = take_reservation(pool, round_up(bytes / kBlockSize * sizeof(Info), kPageSize), kPageSize);
    if (memory_.data() != nullptr && mark_memory_.data() != nullptr && info_memory_.data() != nullptr) {
      // A reservation granted after refusals may be nearly all that the system has left, and large objects,
      // stacks, threads and compiled code need address space as well: half of it is theirs.
      if (std::exchange(refused, false) && bytes > kMinimumReservation) {
        memory_ = Reservation();
        continue;
      }
      return {};
    }
    refused = true;
    if (bytes == kMinimumReservation) break;
  }
  return error(ErrorCode::kOutOfMemory, "the system grants no address space for a heap: {}",
               memory_shortage());
}

BlockSpace::~BlockSpace() {
  if (pool_ != nullptr) give_back();
}

// Afterwards everything that was written reads as zero.
void BlockSpace::give_back() {
  if (high_water_ != 0) {
    unpoison(memory_.data(), high_water_ * kBlockSize);
    memory_.discard(0, high_water_ * kBlockSize);
    const std::size_t mark_bytes = high_water_ * kGranulesPerBlock;
    if (high_water_ <= kMarksCleared) {
      std::memset(marks(), 0, mark_bytes);
    } else {
      mark_memory_.discard(0, mark_bytes);
    }
    std::memset(info_memory_.data(), 0, high_water_ * sizeof(Info));
  }
  give_back_reservation(pool_, std::move(memory_));
  give_back_reservation(pool_, std::move(mark_memory_));
  give_back_reservation(pool_, std::move(info_memory_));
}

// Small heaps do without the calls, and so without separate mappings: the kernel merges neighbouring mappings of the
// same kind.
void BlockSpace::ask_for_huge_pages(BlockIndex block) {
  if (block == kSmallPages / kBlockSize && sparse_.empty()) memory_.prefer_huge_pages(kSmallPages);
  if (block == kHugePage / kGranulesPerBlock) mark_memory_.prefer_huge_pages(kHugePage);
}

void BlockSpace::touch(BlockIndex block, unsigned size_class) {
  info(block).state = State::kTouched;
  info(block).size_class = static_cast<std::uint8_t>(size_class);
  touched_.push_back(block);
}

std::optional<BlockIndex> BlockSpace::take_queued(unsigned size_class) {
  std::vector<BlockIndex>& blocks = queues_[size_class].blocks;
  while (!blocks.empty()) {
    const BlockIndex block = blocks.back();
    blocks.pop_back();
    if (!is_in(block, size_class)) continue;
    // An empty block is in the cache; use it again at once.
    if (info(block).state == State::kUnswept) sweep(block);
    if (info(block).state == State::kFree) return take_free(block, size_class);
    if (info(block).state != State::kQueued) continue;
    touch(block, size_class);
    return block;
  }
  return std::nullopt;
}

std::optional<BlockIndex> BlockSpace::take_emptied(unsigned size_class) {
  while (!unswept_.empty()) {
    const BlockIndex block = unswept_.back();
    unswept_.pop_back();
    if (info(block).state != State::kUnswept) continue;
    sweep(block);
    if (info(block).state == State::kFree) return take_free(block, size_class);
  }
  return std::nullopt;
}

void BlockSpace::sweep_all() {
  for (const BlockIndex block : unswept_) {
    if (info(block).state == State::kUnswept) sweep(block);
  }
  unswept_.clear();
  unswept_granules_ = 0;
}

// Objects that two threads marked at once were counted twice; sweeping all blocks corrects the count.
void BlockSpace::sweep(BlockIndex block) {
  const std::size_t before = info(block).free_granules;
  count_free_of(block);
  const std::size_t marked = before - info(block).free_granules;
  live_granules_ += marked;
  unswept_granules_ -= std::min(marked, unswept_granules_);
  settle(block);
}

std::optional<BlockIndex> BlockSpace::take_roomy(unsigned size_class, std::size_t size) {
  int inspections = 0;
  int attempts = 0;
  for (unsigned of_class = 0; of_class < kSizeClasses; ++of_class) {
    Queue& queue = queues_[of_class];
    while (queue.offered < queue.blocks.size()) {
      if (inspections++ == kRoomyInspections) return std::nullopt;
      const BlockIndex block = queue.blocks[queue.offered++];
      if (!is_in(block, of_class)) continue;
      if (info(block).state == State::kUnswept) sweep(block);
      if (info(block).state == State::kFree) return take_free(block, size_class);
      if (info(block).free_granules >= kRoomy) {
        Coverage coverage;
        compute_coverage(marks_of(block), coverage);
        if (find_hole(coverage, 0, size / kGranule).granules() != 0) {
          touch(block, size_class);
          return block;
        }
        ++attempts;
      }
      if (attempts == kRoomyAttempts) return std::nullopt;
    }
  }
  return std::nullopt;
}

std::optional<BlockIndex> BlockSpace::take_empty(unsigned size_class) {
  while (free_hint_ < high_water_ && info(free_hint_).state != State::kFree) ++free_hint_;
  if (free_hint_ == memory_.size() / kBlockSize) return std::nullopt;
  const BlockIndex block = free_hint_++;
  if (block == high_water_) {
    ++high_water_;
    ask_for_huge_pages(block);
    // The first fault of the pages with the block's mark bytes, which may zero a huge page and take milliseconds,
    // happens here rather than in a pause.
    for (std::size_t byte = 0; byte < kGranulesPerBlock; byte += kPageSize)
      *const_cast<volatile std::uint8_t*>(marks_of(block) + byte) = 0;
  }
  return take_free(block, size_class);
}

BlockIndex BlockSpace::take_free(BlockIndex block, unsigned size_class) {
  info(block).free_granules = kGranulesPerBlock;
  touch(block, size_class);
  ++used_blocks_;
  note_peak();
  return block;
}

// Every sparse block has a hole of a page; a larger hole has to be searched for.
std::optional<BlockIndex> BlockSpace::take_sparse(unsigned size_class, std::size_t size) {
  if (too_large_for_sparse_ != 0 && size >= too_large_for_sparse_) return std::nullopt;
  for (std::size_t i = sparse_.size(); i-- > 0;) {
    const BlockIndex block = sparse_[i];
    if (size > kPageSize) {
      Coverage coverage;
      compute_coverage(marks_of(block), coverage);
      if (find_hole(coverage, 0, size / kGranule).granules() == 0) continue;
    }
    sparse_[i] = sparse_.back();
    sparse_.pop_back();
    forget_released(block);
    touch(block, size_class);
    note_peak();
    return block;
  }
  too_large_for_sparse_ = size;
  return std::nullopt;
}

std::optional<BlockIndex> BlockSpace::take_fresh(unsigned size_class, std::size_t size) {
  if (const std::optional<BlockIndex> block = take_sparse(size_class, size)) return block;
  return take_empty(size_class);
}

void BlockSpace::forget_released(BlockIndex block) {
  released_pages_ -= static_cast<std::size_t>(std::popcount(info(block).released));
  info(block).released = 0;
}

bool BlockSpace::take_zeroed(BlockIndex block) {
  if (std::exchange(info(block).written, true)) return false;
  ++written_blocks_;
  return true;
}

// Calls visit(first, end) for ranges that cover all blocks, on several threads where that is worth it.
template <typename Visit>
void BlockSpace::for_each_slice(ThreadPool* pool, Visit&& visit) const {
  constexpr BlockIndex kSlice = 512;
  const BlockIndex slices = (high_water_ + kSlice - 1) / kSlice;
  if (pool == nullptr || slices <= 2) return visit(BlockIndex{0}, high_water_);
  pool->parallel_for_chunks(
      slices, [&](BlockIndex slice) { visit(slice * kSlice, std::min((slice + 1) * kSlice, high_water_)); });
}

void BlockSpace::clear_marks(ThreadPool* pool) {
  // One memset per run of used blocks; free blocks have no marks.
  for_each_slice(pool, [this](BlockIndex block, BlockIndex end) {
    for (; block < end; ++block) {
      const BlockIndex first = block;
      while (block < end && holds_objects(block)) ++block;
      std::memset(marks() + first * kGranulesPerBlock, 0, (block - first) * kGranulesPerBlock);
    }
  });
}

// Brings free_granules up to date with the block's marks. Threads may do this for different blocks at once.
void BlockSpace::count_free_of(BlockIndex block) {
  Coverage coverage;
  compute_coverage(marks_of(block), coverage);
  Info& block_info = info(block);
  block_info.free_granules = static_cast<std::uint16_t>(count_free(coverage));
  if (!scribble_ && !kPoisoning) return;
  for_each_hole(coverage, [&](Hole hole) {
    std::byte* start = address_of(block) + hole.begin * kGranule;
    unpoison(start, hole.granules() * kGranule);
    if (scribble_ && block_info.written && block_info.released == 0)
      std::memset(start, kScribble, hole.granules() * kGranule);
    poison(start, hole.granules() * kGranule);
  });
}

// Derives the block's state from free_granules. The caller rebuilds the lists.
void BlockSpace::settle(BlockIndex block) {
  Info& block_info = info(block);
  if (block_info.free_granules == kGranulesPerBlock) {
    forget_released(block);
    block_info.state = State::kFree;
    block_info.idle_cycles = 0;
    free_hint_ = std::min(free_hint_, block);
    --used_blocks_;
  } else if (block_info.released != 0) {
    block_info.state = State::kSparse;
  } else {
    const std::size_t enough = thoroughly_ ? kWorthSweepingThoroughly : kWorthSweeping;
    block_info.state = block_info.free_granules < enough ? State::kDense : State::kQueued;
  }
}

void BlockSpace::finish_minor(std::size_t marked) {
  unswept_granules_ += marked;
  std::erase_if(unswept_, [this](BlockIndex block) { return info(block).state != State::kUnswept; });
  // The touched blocks go to the back, to be taken first: they are in the cache, the last ones most of all.
  for (const BlockIndex block : touched_) {
    info(block).state = State::kUnswept;
    enqueue(block);
    unswept_.push_back(block);
  }
  touched_.clear();
  for (Queue& queue : queues_) queue.offered = 0;
  // Dead objects are filled or poisoned at once, so that a use after death is found.
  if (scribble_ || kPoisoning) sweep_all();
}

void BlockSpace::finish_full(ThreadPool* pool) {
  touched_.clear();
  unswept_.clear();
  unswept_granules_ = 0;
  const bool had_sparse = !sparse_.empty();
  sparse_.clear();
  too_large_for_sparse_ = 0;
  for (Queue& queue : queues_) queue = {};
  for_each_slice(pool, [this](BlockIndex block, BlockIndex end) {
    for (; block < end; ++block) {
      if (holds_objects(block)) count_free_of(block);
    }
  });
  live_granules_ = 0;
  for (BlockIndex block = high_water_; block-- > 0;) {
    if (!holds_objects(block)) continue;
    live_granules_ += kGranulesPerBlock - info(block).free_granules;
    settle(block);
    if (info(block).state == State::kQueued) enqueue(block);
    if (info(block).state == State::kSparse) sparse_.push_back(block);
  }
  if (had_sparse && sparse_.empty()) memory_.prefer_huge_pages(kSmallPages);
  discard_idle();
}

void BlockSpace::release_pages() {
  memory_.prefer_small_pages(kSmallPages);
  sweep_all();
  for (unsigned of_class = 0; of_class < kSizeClasses; ++of_class) {
    std::erase_if(queues_[of_class].blocks, [this, of_class](BlockIndex block) {
      if (!is_in(block, of_class)) return true;
      if (!release_pages_of(block)) return false;
      info(block).state = State::kSparse;
      sparse_.push_back(block);
      return true;
    });
  }
  for (const BlockIndex block : sparse_) release_pages_of(block);
  too_large_for_sparse_ = 0;
}

// Whether the block has given back any page.
bool BlockSpace::release_pages_of(BlockIndex block) {
  constexpr std::size_t kWordsPerPage = kCoverageWords / kPagesPerBlock;
  Info& block_info = info(block);
  if (block_info.free_granules < kPageSize / kGranule) return false;
  Coverage coverage;
  compute_coverage(marks_of(block), coverage);
  const auto is_releasable = [&](std::size_t page) {
    std::uint64_t used = 0;
    for (std::size_t i = 0; i < kWordsPerPage; ++i) used |= coverage[page * kWordsPerPage + i];
    return used == 0 && (block_info.released >> page & 1) == 0;
  };
  for (std::size_t page = 0; page < kPagesPerBlock; ++page) {
    std::size_t end = page;
    while (end < kPagesPerBlock && is_releasable(end)) ++end;
    if (end == page) continue;
    memory_.discard(block * kBlockSize + page * kPageSize, (end - page) * kPageSize);
    block_info.released |= static_cast<std::uint16_t>(((1u << (end - page)) - 1) << page);
    released_pages_ += end - page;
    page = end;
  }
  return block_info.released != 0;
}

// Gives memory back in whole huge pages, and only what two full collections in a row found unused: touching
// fresh memory again costs 0.3 s per GiB and more.
void BlockSpace::discard_idle() {
  for (BlockIndex first = 0; first < high_water_; first += kBlocksPerHugePage) {
    const BlockIndex end = std::min<BlockIndex>(first + kBlocksPerHugePage, high_water_);
    bool idle = true;
    bool written = false;
    for (BlockIndex block = first; block < end; ++block) {
      Info& block_info = info(block);
      if (block_info.state != State::kFree) {
        idle = false;
        continue;
      }
      written |= block_info.written;
      if (block_info.idle_cycles < kIdleCyclesBeforeDiscard) ++block_info.idle_cycles;
      idle &= block_info.idle_cycles == kIdleCyclesBeforeDiscard;
    }
    if (!idle || !written) continue;
    discard(first, end);
  }
}

// These blocks are empty.
void BlockSpace::discard(BlockIndex first, BlockIndex end) {
  memory_.discard(first * kBlockSize, (end - first) * kBlockSize);
  for (BlockIndex block = first; block < end; ++block) {
    if (std::exchange(info(block).written, false)) --written_blocks_;
  }
}

void BlockSpace::release_empty() {
  sweep_all();
  const auto is_empty = [this](BlockIndex block) { return block < high_water_ && !holds_objects(block); };
  for (BlockIndex first = 0; first < high_water_; ++first) {
    BlockIndex end = first;
    while (is_empty(end)) ++end;
    if (end == first) continue;
    discard(first, end);
    mark_memory_.discard(first * kGranulesPerBlock, (end - first) * kGranulesPerBlock);  // they are zero
    first = end;
  }
}

}  // namespace dhpvm::gc
