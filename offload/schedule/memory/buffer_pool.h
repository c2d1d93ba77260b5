// SPDX-License-Identifier: Apache-2.0
// Allocates off-heap buffers from large, long-lived chunks of memory, cut into blocks.
//
// Chunks are registered with devices, once each (registrations.h): a program that allocates and frees buffers all
// the time keeps using the same chunks. Allocating from a warm pool makes no system call.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "dhpvm/result.h"
#include "offload/schedule/memory/buffer.h"

namespace dhpvm::offload {

struct BufferPoolOptions {
  // The most bytes of buffers, including those in quarantine. 0: the machine's memory.
  std::size_t budget_bytes = 0;
  // Memory of buffers with a chunk of their own is kept after they are freed, up to this many bytes, for later buffers
  // of the same size.
  std::size_t cache_bytes = std::size_t{256} << 20;
  // An unused chunk goes back to the system after this time; one chunk is always kept.
  std::chrono::milliseconds idle_time = std::chrono::seconds(30);
};

struct BufferPoolStats {
  std::size_t owned_bytes = 0;        // held by handles
  std::size_t quarantined_bytes = 0;  // the handle is gone, but operations are in flight
  std::size_t cached_bytes = 0;       // dedicated chunks kept for reuse
  std::size_t mapped_bytes = 0;       // all chunks; not all of it need be resident
  std::size_t chunks = 0;
  std::size_t buffers = 0;          // owned and quarantined
  std::uint64_t allocations = 0;    // since creation
  std::uint64_t chunks_mapped = 0;  // since creation
};

// Whether a new buffer reads as zeros. Undefined bytes may come from another program that this process ran: only for
// callers that overwrite all of them before they are read.
enum class BufferContents : std::uint8_t { kZeroed, kUndefined };

// Implemented by code that registers memory elsewhere; asked before memory goes back to the system.
class ChunkObserver {
 public:
  virtual ~ChunkObserver() = default;
  // No buffer is left in this chunk. Returns true if the chunk is registered nowhere, and false if it still is: the
  // pool asks again later. Called by threads that allocate or close, with no lock of the pool held.
  virtual bool release_chunk(std::span<std::byte> chunk) = 0;
  // Runs `action` if this chunk is registered nowhere, and prevents its registration meanwhile. Called in the same way.
  virtual void while_unknown(std::span<std::byte> chunk, const std::function<void()>& action) = 0;
};

// Thread-safe. Must outlive its buffers.
class BufferPool {
 public:
  static constexpr std::size_t kChunkSize = std::size_t{64} << 20;
  // The smallest block, and the unit of all block sizes.
  static constexpr std::size_t kUnit = std::size_t{64} << 10;
  // Buffers above this size get a chunk of their own.
  static constexpr std::size_t kLargestBlock = kChunkSize / 2;

  explicit BufferPool(const BufferPoolOptions& options = {});
  ~BufferPool();
  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;

  // A buffer of `bytes` bytes with one reference, the handle's. kOffHeapExhausted when the budget or the
  // system's memory is used up: the caller may collect garbage and try again.
  Result<Buffer*> allocate(std::size_t bytes, BufferContents contents = BufferContents::kZeroed);

  // Gives every unused chunk, the cache, and the free parts of other chunks back to the system now. Parts of a chunk
  // that is registered with a device stay, because their pages may be pinned.
  void release_idle();

  // Must be called with null before the observer ends, and only while no other thread uses the pool.
  void set_observer(ChunkObserver* observer) { observer_ = observer; }

  BufferPoolStats stats() const;

 private:
  friend class Buffer;
  using Clock = std::chrono::steady_clock;

  // A new buffer, and what has to be done to its memory.
  struct Taken {
    Buffer* buffer = nullptr;
    bool dirty = false;
    std::size_t first_page = 0;  // huge pages of the chunk to be made resident
    std::size_t end_page = 0;
  };

  // Slow steps are done without mutex_: unmapping, asking the observer, destroying a buffer's copies. Returns true if
  // there are retired chunks.
  bool reclaim(Buffer* buffer);
  void note_closed(std::size_t capacity);
  Result<Taken> take_or_trim(std::size_t bytes);
  void unmap_retired();
  void release_free_units();

  // Free units of one chunk, taken while their pages go back to the system.
  struct FreeUnits {
    std::size_t first;
    std::size_t count;
  };
  struct SparseChunk {
    PoolChunk* chunk;
    std::vector<FreeUnits> units;
    bool released = false;
  };

  // With mutex_ held. A null buffer means that the system refuses memory.
  Result<Taken> take(std::size_t bytes);
  Result<Buffer*> take_block(std::size_t bytes);
  Result<Buffer*> take_dedicated(std::size_t bytes);
  std::unique_ptr<PoolChunk> map_chunk(std::size_t bytes);
  Error exhausted(std::size_t bytes, const char* why) const;
  Status check_budget(std::size_t bytes, std::size_t capacity) const;
  void retire_idle(Clock::time_point idle_since, std::size_t keep);
  std::vector<SparseChunk> take_free_units();
  void give_back(const SparseChunk& sparse);
  void shrink_cache(std::size_t bytes);
  Buffer* new_buffer(PoolChunk* chunk, std::byte* data, std::size_t bytes, std::size_t capacity);

  BufferPoolOptions options_;
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<PoolChunk>> chunks_;     // shared by blocks
  std::vector<std::uint32_t> free_orders_;             // one for each of chunks_, in one place for searching
  std::vector<std::unique_ptr<PoolChunk>> dedicated_;  // in use by one buffer each
  std::vector<std::unique_ptr<PoolChunk>> cache_;      // dedicated ones without a buffer, oldest first
  std::vector<std::unique_ptr<PoolChunk>> retired_;    // never used again, to be unmapped
  std::vector<std::unique_ptr<Buffer>> buffers_;       // all control blocks; freed with the pool
  std::vector<Buffer*> spare_buffers_;
  BufferPoolStats stats_;
  ChunkObserver* observer_ = nullptr;
};

}  // namespace dhpvm::offload
