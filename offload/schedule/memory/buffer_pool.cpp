// SPDX-License-Identifier: Apache-2.0
#include "offload/schedule/memory/buffer_pool.h"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <iterator>
#include <utility>

#include "base/error.h"
#include "offload/schedule/memory/pool_chunk.h"

namespace dhpvm::offload {
namespace {

static_assert(BufferPool::kChunkSize / BufferPool::kUnit == Buddy::kUnits);

constexpr std::size_t round_up(std::size_t value, std::size_t unit) {
  return (value + unit - 1) / unit * unit;
}

// The limit must be a real one: memory is only reserved until it is touched, so the system would grant far more than it
// has and kill the process later.
std::size_t physical_memory() {
  return static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace

BufferPool::BufferPool(const BufferPoolOptions& options) : options_(options) {
  if (options_.budget_bytes == 0) options_.budget_bytes = physical_memory();
}
BufferPool::~BufferPool() = default;

Error BufferPool::exhausted(std::size_t bytes, const char* why) const {
  return error(
      ErrorCode::kOffHeapExhausted,
      "a buffer of {} bytes {}: {} buffers use {} of {} bytes, {} of these until operations in flight have "
      "ended; close arrays that are no longer needed, or raise the off-heap limit",
      bytes, why, stats_.buffers, stats_.owned_bytes + stats_.quarantined_bytes, options_.budget_bytes,
      stats_.quarantined_bytes);
}

Status BufferPool::check_budget(std::size_t bytes, std::size_t capacity) const {
  const std::size_t used = stats_.owned_bytes + stats_.quarantined_bytes;
  if (used <= options_.budget_bytes && capacity <= options_.budget_bytes - used) return {};
  return exhausted(bytes, "exceeds the off-heap limit");
}

Result<Buffer*> BufferPool::allocate(std::size_t bytes, BufferContents contents) {
  DHPVM_ASSIGN(const Taken taken, take_or_trim(bytes));
  Buffer* const buffer = taken.buffer;
  // The slow steps are done without the lock.
  if (taken.first_page < taken.end_page &&
      !buffer->chunk_->mapping.populate(taken.first_page * kHugePage,
                                        (taken.end_page - taken.first_page) * kHugePage)) {
    buffer->close();
    const std::lock_guard lock(mutex_);
    return exhausted(bytes, "does not fit into the system's memory");
  }
  if (taken.dirty && contents == BufferContents::kZeroed) std::memset(buffer->data_, 0, buffer->size_);
  return buffer;
}

// If the system refuses, releases what is kept for later, and tries again.
Result<BufferPool::Taken> BufferPool::take_or_trim(std::size_t bytes) {
  std::unique_lock lock(mutex_);
  DHPVM_ASSIGN(Taken taken, take(bytes));
  if (taken.buffer != nullptr && retired_.empty()) return taken;
  if (taken.buffer == nullptr) {
    shrink_cache(0);
    retire_idle(Clock::time_point::max(), 0);
  }
  lock.unlock();
  unmap_retired();
  if (taken.buffer != nullptr) return taken;
  lock.lock();
  DHPVM_ASSIGN(taken, take(bytes));
  if (taken.buffer == nullptr) return exhausted(bytes, "does not fit into the system's memory");
  return taken;
}

Result<BufferPool::Taken> BufferPool::take(std::size_t bytes) {
  // Check the budget first, so that no size overflows below.
  DHPVM_TRY(check_budget(bytes, bytes));
  Taken taken;
  DHPVM_ASSIGN(taken.buffer, bytes <= kLargestBlock ? take_block(bytes) : take_dedicated(bytes));
  if (taken.buffer == nullptr) return taken;
  const Buffer& buffer = *taken.buffer;
  PoolChunk& chunk = *buffer.chunk_;
  if (chunk.dedicated) {
    taken.dirty = chunk.dirty.add(0, 1);
    return taken;
  }
  if (std::exchange(chunk.prefers_small_pages, false)) chunk.mapping.prefer_huge_pages(0);
  const auto offset = static_cast<std::size_t>(buffer.data_ - chunk.mapping.data());
  taken.dirty = chunk.dirty.add(offset / kUnit, buffer.capacity_ / kUnit);
  std::size_t first = offset / kHugePage;
  std::size_t end = round_up(offset + buffer.capacity_, kHugePage) / kHugePage;
  while (first < end && chunk.populated.contains(first)) ++first;
  while (first < end && chunk.populated.contains(end - 1)) --end;
  chunk.populated.add(first, end - first);
  taken.first_page = first;
  taken.end_page = end;
  return taken;
}

Result<Buffer*> BufferPool::take_block(std::size_t bytes) {
  const std::size_t units = std::max<std::size_t>(round_up(bytes, kUnit) / kUnit, 1);
  DHPVM_TRY(check_budget(bytes, units * kUnit));
  const unsigned order = Buddy::order_of(units);
  const auto fitting = std::find_if(free_orders_.begin(), free_orders_.end(),
                                    [=](std::uint32_t orders) { return orders >> order != 0; });
  auto index = static_cast<std::size_t>(fitting - free_orders_.begin());
  if (fitting == free_orders_.end()) {
    std::unique_ptr<PoolChunk> chunk = map_chunk(kChunkSize);
    if (chunk == nullptr) return nullptr;
    index = chunk->index = chunks_.size();
    free_orders_.push_back(chunk->units.free_orders());
    chunks_.push_back(std::move(chunk));
  }
  PoolChunk& chunk = *chunks_[index];
  const std::size_t first = chunk.units.take(units).value();
  free_orders_[index] = chunk.units.free_orders();
  return new_buffer(&chunk, chunk.mapping.data() + first * kUnit, bytes, units * kUnit);
}

Result<Buffer*> BufferPool::take_dedicated(std::size_t bytes) {
  const std::size_t capacity = round_up(bytes, kHugePage);
  // A cached chunk may be up to a quarter larger than needed.
  const auto cached =
      std::find_if(cache_.begin(), cache_.end(), [=](const std::unique_ptr<PoolChunk>& chunk) {
        return chunk->mapping.size() >= capacity && chunk->mapping.size() - capacity <= capacity / 4;
      });
  const std::size_t size = cached == cache_.end() ? capacity : (*cached)->mapping.size();
  DHPVM_TRY(check_budget(bytes, size));
  std::unique_ptr<PoolChunk> chunk;
  if (cached != cache_.end()) {
    chunk = std::move(*cached);
    cache_.erase(cached);
    stats_.cached_bytes -= size;
  } else {
    chunk = map_chunk(size);
    if (chunk == nullptr) return nullptr;
    chunk->dedicated = true;
  }
  dedicated_.push_back(std::move(chunk));
  PoolChunk* owned = dedicated_.back().get();
  return new_buffer(owned, owned->mapping.data(), bytes, size);
}

std::unique_ptr<PoolChunk> BufferPool::map_chunk(std::size_t bytes) {
  // Cached chunks would exceed a budget that is in full use. They are released before this chunk is touched.
  if (stats_.mapped_bytes + bytes > options_.budget_bytes) shrink_cache(0);
  auto chunk = std::make_unique<PoolChunk>();
  chunk->mapping = Reservation(bytes, kHugePage);
  if (chunk->mapping.data() == nullptr) return nullptr;
  // Small pages would work too, with 512 times the faults and a slower registration with devices.
  chunk->mapping.prefer_huge_pages(0);
  stats_.mapped_bytes += bytes;
  ++stats_.chunks;
  ++stats_.chunks_mapped;
  return chunk;
}

Buffer* BufferPool::new_buffer(PoolChunk* chunk, std::byte* data, std::size_t bytes, std::size_t capacity) {
  if (spare_buffers_.empty()) {
    buffers_.push_back(std::make_unique<Buffer>());
    spare_buffers_.push_back(buffers_.back().get());
  }
  Buffer* buffer = spare_buffers_.back();
  spare_buffers_.pop_back();
  buffer->pool_ = this;
  buffer->chunk_ = chunk;
  buffer->data_ = data;
  buffer->size_ = bytes;
  buffer->capacity_ = capacity;
  buffer->closed_.store(false, std::memory_order_relaxed);
  buffer->references_.store(1, std::memory_order_relaxed);
  stats_.owned_bytes += capacity;
  ++stats_.buffers;
  ++stats_.allocations;
  return buffer;
}

void BufferPool::note_closed(std::size_t capacity) {
  const std::lock_guard lock(mutex_);
  stats_.owned_bytes -= capacity;
  stats_.quarantined_bytes += capacity;
}

bool BufferPool::reclaim(Buffer* buffer) {
  // Before the memory has a new owner, and without the lock: destroying copies may free memory of a device.
  buffer->copies_.reset();
  const std::lock_guard lock(mutex_);
  stats_.quarantined_bytes -= buffer->capacity_;
  --stats_.buffers;
  spare_buffers_.push_back(buffer);
  PoolChunk& chunk = *buffer->chunk_;
  if (chunk.dedicated) {
    const auto owned =
        std::find_if(dedicated_.begin(), dedicated_.end(),
                     [&](const std::unique_ptr<PoolChunk>& other) { return other.get() == &chunk; });
    stats_.cached_bytes += chunk.mapping.size();
    cache_.push_back(std::move(*owned));
    dedicated_.erase(owned);
    shrink_cache(options_.cache_bytes);
    return !retired_.empty();
  }
  const auto offset = static_cast<std::size_t>(buffer->data_ - chunk.mapping.data());
  chunk.units.give(offset / kUnit, buffer->capacity_ / kUnit);
  free_orders_[chunk.index] = chunk.units.free_orders();
  if (chunk.units.free_units() == Buddy::kUnits && chunks_.size() != 1) {
    chunk.idle_since = Clock::now();
    retire_idle(chunk.idle_since - options_.idle_time, 1);
  }
  return !retired_.empty();
}

// Retires chunks that are idle since before `idle_since`, but keeps `keep` shared chunks in any case.
void BufferPool::retire_idle(Clock::time_point idle_since, std::size_t keep) {
  for (std::size_t i = chunks_.size(); i-- > 0 && chunks_.size() > keep;) {
    const PoolChunk& chunk = *chunks_[i];
    if (chunk.units.free_units() != Buddy::kUnits || chunk.idle_since > idle_since) continue;
    retired_.push_back(std::move(chunks_[i]));
    chunks_.erase(chunks_.begin() + static_cast<std::ptrdiff_t>(i));
    free_orders_.erase(free_orders_.begin() + static_cast<std::ptrdiff_t>(i));
    for (std::size_t j = i; j < chunks_.size(); ++j) chunks_[j]->index = j;
  }
}

void BufferPool::shrink_cache(std::size_t bytes) {
  while (stats_.cached_bytes > bytes) {
    stats_.cached_bytes -= cache_.front()->mapping.size();
    retired_.push_back(std::move(cache_.front()));
    cache_.erase(cache_.begin());
  }
}

void BufferPool::unmap_retired() {
  std::vector<std::unique_ptr<PoolChunk>> chunks;
  {
    const std::lock_guard lock(mutex_);
    chunks.swap(retired_);
  }
  const auto in_use = [this](const std::unique_ptr<PoolChunk>& chunk) {
    return observer_ != nullptr && !observer_->release_chunk({chunk->mapping.data(), chunk->mapping.size()});
  };
  const auto kept = std::partition(chunks.begin(), chunks.end(), std::not_fn(in_use));
  std::vector<std::unique_ptr<PoolChunk>> refused(std::make_move_iterator(kept),
                                                  std::make_move_iterator(chunks.end()));
  std::size_t bytes = 0;
  const std::size_t count = static_cast<std::size_t>(kept - chunks.begin());
  for (std::size_t i = 0; i < count; ++i) bytes += chunks[i]->mapping.size();
  chunks.clear();
  const std::lock_guard lock(mutex_);
  stats_.mapped_bytes -= bytes;
  stats_.chunks -= count;
  std::ranges::move(refused, std::back_inserter(retired_));
}

void BufferPool::release_idle() {
  {
    const std::lock_guard lock(mutex_);
    shrink_cache(0);
    retire_idle(Clock::time_point::max(), 0);
  }
  unmap_retired();
  release_free_units();
}

// Takes the free units that may be resident, in chunks that contain buffers.
std::vector<BufferPool::SparseChunk> BufferPool::take_free_units() {
  constexpr std::size_t kUnitsPerPage = kHugePage / kUnit;
  std::vector<SparseChunk> found;
  for (const std::unique_ptr<PoolChunk>& chunk : chunks_) {
    SparseChunk sparse{.chunk = chunk.get(), .units = {}};
    std::vector<FreeUnits> untouched;
    while (chunk->units.free_units() != 0) {
      const std::size_t count = std::bit_floor(chunk->units.free_orders());
      const std::size_t first = chunk->units.take(count).value();
      const std::size_t first_page = first / kUnitsPerPage;
      const std::size_t pages = (first + count - 1) / kUnitsPerPage - first_page + 1;
      const bool resident =
          chunk->dirty.contains_any(first, count) || chunk->populated.contains_any(first_page, pages);
      (resident ? sparse.units : untouched).push_back({first, count});
    }
    for (const FreeUnits& units : untouched) chunk->units.give(units.first, units.count);
    free_orders_[chunk->index] = chunk->units.free_orders();
    if (!sparse.units.empty()) found.push_back(std::move(sparse));
  }
  return found;
}

void BufferPool::give_back(const SparseChunk& sparse) {
  PoolChunk& chunk = *sparse.chunk;
  for (const FreeUnits& units : sparse.units) {
    if (sparse.released) {
      constexpr std::size_t kUnitsPerPage = kHugePage / kUnit;
      const std::size_t first_page = units.first / kUnitsPerPage;
      chunk.dirty.remove(units.first, units.count);
      chunk.populated.remove(first_page, (units.first + units.count - 1) / kUnitsPerPage - first_page + 1);
    }
    chunk.units.give(units.first, units.count);
  }
  chunk.prefers_small_pages |= sparse.released;
  free_orders_[chunk.index] = chunk.units.free_orders();
  chunk.idle_since = Clock::now();
}

// The units count as taken while their pages go back, so that no thread waits for the system.
void BufferPool::release_free_units() {
  std::unique_lock lock(mutex_);
  std::vector<SparseChunk> chunks = take_free_units();
  lock.unlock();
  for (SparseChunk& sparse : chunks) {
    const Reservation& mapping = sparse.chunk->mapping;
    const auto release = [&] {
      // The system would otherwise fill the gaps in the background.
      mapping.prefer_small_pages(0);
      for (const FreeUnits& units : sparse.units) mapping.discard(units.first * kUnit, units.count * kUnit);
      sparse.released = true;
    };
    if (observer_ == nullptr) {
      release();
    } else {
      observer_->while_unknown({mapping.data(), mapping.size()}, release);
    }
  }
  lock.lock();
  for (const SparseChunk& sparse : chunks) give_back(sparse);
}

BufferPoolStats BufferPool::stats() const {
  const std::lock_guard lock(mutex_);
  return stats_;
}

}  // namespace dhpvm::offload
