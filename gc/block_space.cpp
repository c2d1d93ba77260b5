// SPDX-License-Identifier: Apache-2.0
#include "gc/block_space.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "gc/poison.h"

namespace dhpvm::gc {
namespace {

// Blocks with less room than this (4 KiB) are left alone until the next full collection: sweeping them costs
// more than the few objects they would take.
constexpr std::size_t kWorthSweeping = kGranulesPerBlock / 16;

// The overflow area takes a partly filled block only if a quarter of it is free.
constexpr std::size_t kRoomy = kGranulesPerBlock / 4;
constexpr int kRoomyAttempts = 2;

// The first pages stay small, so that a short program does not pay for zeroing, and holding, 2 MiB at a time.
constexpr std::size_t kSmallPages = 2 * kHugePage;

constexpr std::size_t kMinimumReservation = 16 * kBlockSize;
constexpr std::size_t kBlocksPerHugePage = kHugePage / kBlockSize;
constexpr std::uint8_t kIdleCyclesBeforeDiscard = 2;
constexpr int kScribble = 0xDB;

}  // namespace

Status BlockSpace::reserve(std::size_t bytes, bool scribble) {
  scribble_ = scribble;
  for (bytes = round_up(std::max(bytes, kMinimumReservation), kHugePage); bytes >= kMinimumReservation;
       bytes = round_up(bytes / 2, kBlockSize)) {
    memory_ = Reservation(bytes, kHugePage);
    mark_memory_ = Reservation(bytes / kGranule, kHugePage);
    info_memory_ = Reservation(round_up(bytes / kBlockSize * sizeof(Info), 4096), 4096);
    if (memory_.data() != nullptr && mark_memory_.data() != nullptr && info_memory_.data() != nullptr) {
      memory_.prefer_huge_pages(kSmallPages);
      mark_memory_.prefer_huge_pages(kHugePage);
      return {};
    }
    if (bytes == kMinimumReservation) break;
  }
  return error(ErrorCode::kOutOfMemory, "the system grants no address space for a heap; raise `ulimit -v`");
}

void BlockSpace::touch(BlockIndex block) {
  info(block).state = State::kTouched;
  touched_.push_back(block);
}

std::optional<BlockIndex> BlockSpace::take_queued() {
  if (queue_head_ == queue_.size()) return std::nullopt;
  const BlockIndex block = queue_[queue_head_++];
  roomy_end_ = std::max(roomy_end_, queue_head_);
  touch(block);
  return block;
}

std::optional<BlockIndex> BlockSpace::take_roomy() {
  for (int attempt = 0; attempt < kRoomyAttempts && roomy_end_ > queue_head_; ++attempt) {
    const BlockIndex block = queue_[--roomy_end_];
    if (info(block).free_granules < kRoomy) continue;
    queue_[roomy_end_] = queue_.back();
    queue_.pop_back();
    touch(block);
    return block;
  }
  return std::nullopt;
}

std::optional<BlockIndex> BlockSpace::take_empty() {
  while (free_hint_ < high_water_ && info(free_hint_).state != State::kFree) ++free_hint_;
  if (free_hint_ == memory_.size() / kBlockSize) return std::nullopt;
  const BlockIndex block = free_hint_++;
  high_water_ = std::max(high_water_, free_hint_);
  info(block).free_granules = kGranulesPerBlock;
  touch(block);
  ++used_blocks_;
  peak_used_blocks_ = std::max(peak_used_blocks_, used_blocks_);
  return block;
}

bool BlockSpace::take_zeroed(BlockIndex block) { return !std::exchange(info(block).written, true); }

void BlockSpace::clear_marks() {
  // One memset per run of used blocks; free blocks have no marks.
  for (BlockIndex block = 0; block < high_water_; ++block) {
    if (!holds_objects(block)) continue;
    const BlockIndex first = block;
    while (block < high_water_ && holds_objects(block)) ++block;
    std::memset(marks() + first * kGranulesPerBlock, 0, (block - first) * kGranulesPerBlock);
  }
}

// Brings live_granules_ and the state up to date with the block's marks. The caller rebuilds the lists.
void BlockSpace::recount(BlockIndex block) {
  Coverage coverage;
  compute_coverage(marks_of(block), coverage);
  const std::size_t free = count_free(coverage);
  Info& block_info = info(block);
  live_granules_ = live_granules_ + block_info.free_granules - free;
  block_info.free_granules = static_cast<std::uint16_t>(free);
  if (free == kGranulesPerBlock) {
    block_info.state = State::kFree;
    block_info.idle_cycles = 0;
    free_hint_ = std::min(free_hint_, block);
    --used_blocks_;
  } else {
    block_info.state = free < kWorthSweeping ? State::kDense : State::kQueued;
  }
  if (!scribble_ && !kPoisoning) return;
  for (Hole hole = find_hole(coverage, 0, 1); hole.granules() != 0; hole = find_hole(coverage, hole.end, 1)) {
    std::byte* start = address_of(block) + hole.begin * kGranule;
    unpoison(start, hole.granules() * kGranule);
    if (scribble_ && block_info.written) std::memset(start, kScribble, hole.granules() * kGranule);
    poison(start, hole.granules() * kGranule);
  }
}

void BlockSpace::finish_minor() {
  // The touched blocks go first: they are in the cache, and their free space is the nursery of the next
  // cycle.
  for (const BlockIndex block : touched_) recount(block);
  std::erase_if(touched_, [&](BlockIndex block) { return info(block).state != State::kQueued; });
  if (touched_.size() <= queue_head_) {
    queue_head_ -= touched_.size();
    std::copy(touched_.begin(), touched_.end(), queue_.begin() + static_cast<std::ptrdiff_t>(queue_head_));
  } else {
    touched_.insert(touched_.end(), queue_.begin() + static_cast<std::ptrdiff_t>(queue_head_), queue_.end());
    queue_.swap(touched_);
    queue_head_ = 0;
  }
  touched_.clear();
  roomy_end_ = queue_.size();
}

void BlockSpace::finish_full() {
  touched_.clear();
  queue_.clear();
  queue_head_ = 0;
  for (BlockIndex block = 0; block < high_water_; ++block) {
    if (!holds_objects(block)) continue;
    recount(block);
    if (info(block).state == State::kQueued) queue_.push_back(block);
  }
  roomy_end_ = queue_.size();
  discard_idle();
}

// Gives memory back in whole huge pages, and only what two full collections in a row found unused: touching
// fresh memory again costs 0.3 s per GiB and more.
void BlockSpace::discard_idle() {
  for (BlockIndex first = 0; first + kBlocksPerHugePage <= high_water_; first += kBlocksPerHugePage) {
    bool idle = true;
    bool written = false;
    for (BlockIndex block = first; block < first + kBlocksPerHugePage; ++block) {
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
    memory_.discard(first * kBlockSize, kHugePage);
    for (BlockIndex block = first; block < first + kBlocksPerHugePage; ++block) info(block).written = false;
  }
}

}  // namespace dhpvm::gc
