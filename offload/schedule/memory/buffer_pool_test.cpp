// SPDX-License-Identifier: Apache-2.0
#include "offload/schedule/memory/buffer_pool.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <span>
#include <thread>
#include <vector>

namespace dhpvm::offload {
namespace {

constexpr std::size_t kKiB = 1024;
constexpr std::size_t kMiB = 1024 * kKiB;

Buffer* allocate(BufferPool& pool, std::size_t bytes) {
  Result<Buffer*> buffer = pool.allocate(bytes);
  EXPECT_TRUE(buffer.ok()) << buffer.error().to_string();
  return buffer.value_or(nullptr);
}

bool all_zero(const Buffer& buffer) {
  const std::span bytes(buffer.data(), buffer.size());
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
}

std::size_t resident_bytes(const std::byte* start, std::size_t bytes) {
  std::vector<unsigned char> pages(bytes / 4096);
  EXPECT_EQ(mincore(const_cast<std::byte*>(start), bytes, pages.data()), 0);
  return static_cast<std::size_t>(
             std::count_if(pages.begin(), pages.end(), [](auto p) { return (p & 1) != 0; })) *
         4096;
}

TEST(BufferPool, GivesAlignedZeroedMemory) {
  BufferPool pool;
  for (const std::size_t bytes :
       {std::size_t{0}, std::size_t{1}, 64 * kKiB, 64 * kKiB + 1, 5 * kMiB, 40 * kMiB}) {
    Buffer* buffer = allocate(pool, bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer->data()) % 4096, 0u);
    EXPECT_EQ(buffer->size(), bytes);
    EXPECT_GE(buffer->capacity(), bytes);
    EXPECT_TRUE(all_zero(*buffer));
    std::memset(static_cast<void*>(buffer->data()), 0x77, bytes);
    buffer->close();
  }
}

TEST(BufferPool, ReusesMemoryZeroed) {
  BufferPool pool;
  for (const std::size_t bytes : {200 * kKiB, 40 * kMiB}) {
    Buffer* first = allocate(pool, bytes);
    std::byte* data = first->data();
    std::memset(static_cast<void*>(data), 0x77, bytes);
    first->close();
    Buffer* second = allocate(pool, bytes);
    EXPECT_EQ(second->data(), data);
    EXPECT_TRUE(all_zero(*second));
    second->close();
  }
  EXPECT_EQ(pool.stats().chunks_mapped, 2u);
}

TEST(BufferPool, ASmallBufferMakesOneHugePageResident) {
  BufferPool pool;
  Buffer* buffer = allocate(pool, 64 * kKiB);
  // The buffer is the chunk's first block.
  EXPECT_LE(resident_bytes(buffer->data(), BufferPool::kChunkSize), 2 * kMiB);
  EXPECT_GE(resident_bytes(buffer->data(), 64 * kKiB), 64 * kKiB);
  buffer->close();
}

TEST(BufferPool, SteadyStateMapsNothing) {
  BufferPool pool;
  std::mt19937 random(3);
  std::vector<Buffer*> buffers;
  buffers.reserve(10);
  for (int i = 0; i < 10; ++i) buffers.push_back(allocate(pool, 2 * kMiB));
  const std::uint64_t mapped = pool.stats().chunks_mapped;
  for (int i = 0; i < 1000; ++i) {
    Buffer*& buffer = buffers[random() % buffers.size()];
    buffer->close();
    buffer = allocate(pool, 64 * kKiB + random() % (2 * kMiB));
  }
  EXPECT_EQ(pool.stats().chunks_mapped, mapped);
  for (Buffer* buffer : buffers) buffer->close();
}

TEST(BufferPool, QuarantineHoldsMemoryUntilNothingFlies) {
  BufferPool pool;
  Buffer* buffer = allocate(pool, 64 * kKiB);
  std::byte* data = buffer->data();
  {
    BufferUse use(*buffer);
    EXPECT_EQ(buffer->uses(), 1u);
    buffer->close();
    EXPECT_EQ(buffer->uses(), 1u);
    EXPECT_EQ(pool.stats().owned_bytes, 0u);
    EXPECT_EQ(pool.stats().quarantined_bytes, 64 * kKiB);
    data[0] = std::byte{1};  // a late write
    Buffer* other = allocate(pool, 64 * kKiB);
    EXPECT_NE(other->data(), data);
    EXPECT_TRUE(all_zero(*other));
    other->close();
  }
  EXPECT_EQ(pool.stats().quarantined_bytes, 0u);
  EXPECT_EQ(pool.stats().buffers, 0u);
  Buffer* again = allocate(pool, 64 * kKiB);
  EXPECT_EQ(again->data(), data);
  EXPECT_TRUE(all_zero(*again));
  again->close();
}

TEST(BufferPool, BudgetCountsQuarantineAndSaysSo) {
  BufferPool pool({.budget_bytes = 256 * kKiB});
  Buffer* first = allocate(pool, 128 * kKiB);
  Buffer* second = allocate(pool, 64 * kKiB);
  const Result<Buffer*> refused = pool.allocate(65 * kKiB);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::kOffHeapExhausted);
  EXPECT_NE(refused.error().message().find("262144"), std::string::npos) << refused.error().message();
  {
    BufferUse use(*first);
    first->close();
    EXPECT_FALSE(pool.allocate(128 * kKiB).ok());
  }
  Buffer* third = allocate(pool, 192 * kKiB);
  second->close();
  third->close();
}

TEST(BufferPool, RefusesAbsurdSizes) {
  BufferPool pool;
  for (const std::size_t bytes : {SIZE_MAX, SIZE_MAX / 2, std::size_t{1} << 46}) {
    const Result<Buffer*> refused = pool.allocate(bytes);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code(), ErrorCode::kOffHeapExhausted);
  }
  EXPECT_EQ(pool.stats().chunks, 0u);
  EXPECT_EQ(pool.stats().buffers, 0u);
}

TEST(BufferPool, CachesDedicatedChunksBySizeWithinItsLimit) {
  BufferPool pool({.cache_bytes = 100 * kMiB});
  Buffer* a = allocate(pool, 48 * kMiB);
  Buffer* b = allocate(pool, 64 * kMiB);
  a->close();
  EXPECT_EQ(pool.stats().cached_bytes, 48 * kMiB);
  b->close();  // 112 MiB: the older one goes
  EXPECT_EQ(pool.stats().cached_bytes, 64 * kMiB);
  Buffer* small = allocate(pool, 40 * kMiB);  // 64 is more than a quarter too large for it
  EXPECT_EQ(pool.stats().cached_bytes, 64 * kMiB);
  Buffer* near = allocate(pool, 56 * kMiB);
  EXPECT_EQ(pool.stats().cached_bytes, 0u);
  EXPECT_EQ(near->capacity(), 64 * kMiB);
  small->close();
  near->close();
  pool.release_idle();
  EXPECT_EQ(pool.stats().chunks, 0u);
  EXPECT_EQ(pool.stats().mapped_bytes, 0u);
}

TEST(BufferPool, ReturnsIdleChunksButKeepsOne) {
  BufferPool pool({.idle_time = std::chrono::milliseconds(0)});
  std::vector<Buffer*> buffers;
  buffers.reserve(6);
  for (int i = 0; i < 6; ++i) buffers.push_back(allocate(pool, 32 * kMiB));
  EXPECT_EQ(pool.stats().chunks, 3u);
  for (Buffer* buffer : buffers) buffer->close();
  EXPECT_EQ(pool.stats().chunks, 1u);
  EXPECT_EQ(pool.stats().mapped_bytes, BufferPool::kChunkSize);
  pool.release_idle();
  EXPECT_EQ(pool.stats().chunks, 0u);
}

// Notes when it goes. Looks at the pool on the way, which would hang if the pool were locked.
class NotedCopies final : public BufferCopies {
 public:
  NotedCopies(BufferPool& pool, int& gone) : pool_(pool), gone_(gone) {}
  ~NotedCopies() override {
    EXPECT_EQ(pool_.stats().buffers, 1u);
    ++gone_;
  }
  Status to_host_for_reading() override { return {}; }
  Status to_host_for_writing() override { return {}; }

 private:
  BufferPool& pool_;
  int& gone_;
};

TEST(BufferPool, CopiesGoWithTheLastReference) {
  BufferPool pool;
  int gone = 0;
  for (const std::size_t bytes : {64 * kKiB, 40 * kMiB}) {
    Buffer* buffer = allocate(pool, bytes);
    buffer->set_copies(std::make_unique<NotedCopies>(pool, gone));
    buffer->close();
    EXPECT_EQ(gone, 1);
    Buffer* again = allocate(pool, bytes);
    EXPECT_EQ(again, buffer);  // the same control block
    EXPECT_EQ(again->copies(), nullptr);
    EXPECT_EQ(again->uses(), 0u);
    again->set_copies(std::make_unique<NotedCopies>(pool, gone));
    {
      BufferUse use(*again);
      again->close();
      EXPECT_EQ(gone, 1);  // an operation in flight may still ask them
    }
    EXPECT_EQ(gone, 2);
    gone = 0;
  }
}

class Observer final : public ChunkObserver {
 public:
  explicit Observer(BufferPool& pool) : pool_(pool) { pool_.set_observer(this); }
  ~Observer() override { pool_.set_observer(nullptr); }
  bool release_chunk(std::span<std::byte> chunk) override {
    chunk[0] = std::byte{1};  // it is still mapped
    asked += pool_.stats().chunks != 0 ? 1 : 0;
    bytes = chunk.size();
    return agrees;
  }
  void while_unknown(std::span<std::byte>, const std::function<void()>& action) override {
    if (agrees) action();
  }

  int asked = 0;
  std::size_t bytes = 0;
  bool agrees = true;

 private:
  BufferPool& pool_;
};

TEST(BufferPool, AsksBeforeMemoryGoesBackToTheSystem) {
  BufferPool pool({.cache_bytes = 0, .idle_time = std::chrono::milliseconds(0)});
  Observer observer(pool);
  allocate(pool, 40 * kMiB)->close();
  EXPECT_EQ(observer.asked, 1);
  EXPECT_EQ(observer.bytes, 40 * kMiB);
  EXPECT_EQ(pool.stats().mapped_bytes, 0u);

  allocate(pool, 1)->close();
  EXPECT_EQ(observer.asked, 1);  // the one chunk that is always kept
  pool.release_idle();
  EXPECT_EQ(observer.asked, 2);
  EXPECT_EQ(observer.bytes, BufferPool::kChunkSize);
  EXPECT_EQ(pool.stats().chunks, 0u);
}

TEST(BufferPool, MemoryThatIsStillKnownStaysAndIsAskedForAgain) {
  BufferPool pool({.cache_bytes = 0});
  Observer observer(pool);
  observer.agrees = false;
  Buffer* buffer = allocate(pool, 40 * kMiB);
  std::byte* const data = buffer->data();
  buffer->close();
  EXPECT_EQ(pool.stats().mapped_bytes, 40 * kMiB);
  Buffer* other = allocate(pool, 40 * kMiB);
  EXPECT_NE(other->data(), data);  // it is out of use all the same
  EXPECT_EQ(pool.stats().mapped_bytes, 80 * kMiB);
  EXPECT_EQ(observer.asked, 2);
  observer.agrees = true;
  allocate(pool, 1)->close();
  EXPECT_EQ(observer.asked, 3);
  EXPECT_EQ(pool.stats().mapped_bytes, 40 * kMiB + BufferPool::kChunkSize);
  other->close();
}

// The end of a use comes on any thread, perhaps one that must not call the device.
TEST(BufferPool, TheEndOfAUseUnmapsNothing) {
  BufferPool pool({.cache_bytes = 0});
  Observer observer(pool);
  Buffer* buffer = allocate(pool, 40 * kMiB);
  {
    BufferUse use(*buffer);
    buffer->close();
  }
  EXPECT_EQ(observer.asked, 0);
  EXPECT_EQ(pool.stats().mapped_bytes, 40 * kMiB);
  allocate(pool, 1)->close();
  EXPECT_EQ(observer.asked, 1);
  EXPECT_EQ(pool.stats().mapped_bytes, BufferPool::kChunkSize);
}

// One small buffer among many keeps its chunk, but not the pages of the others.
TEST(BufferPool, FreePartsOfChunksGoBackToTheSystem) {
  BufferPool pool;
  std::vector<Buffer*> buffers;
  for (int i = 0; i < 30; ++i) {
    buffers.push_back(allocate(pool, kMiB));
    std::memset(static_cast<void*>(buffers.back()->data()), 0x77, kMiB);
  }
  Buffer* const kept = buffers[7];
  const std::span<std::byte> chunk = kept->chunk();
  for (Buffer* buffer : buffers) {
    if (buffer != kept) buffer->close();
  }
  EXPECT_GE(resident_bytes(chunk.data(), chunk.size()), 30 * kMiB);
  {
    Observer observer(pool);
    observer.agrees = false;
    pool.release_idle();
    EXPECT_GE(resident_bytes(chunk.data(), chunk.size()), 30 * kMiB);  // its pages may be pinned
  }
  pool.release_idle();
  EXPECT_LE(resident_bytes(chunk.data(), chunk.size()), kMiB);
  EXPECT_EQ(pool.stats().owned_bytes, kMiB);
  const std::span bytes(kept->data(), kept->size());
  EXPECT_TRUE(std::ranges::all_of(bytes, [](std::byte b) { return b == std::byte{0x77}; }));
  Buffer* const next = allocate(pool, 20 * kMiB);
  EXPECT_EQ(pool.stats().chunks, 1u);
  EXPECT_TRUE(all_zero(*next));
  next->close();
  kept->close();
  pool.release_idle();
  EXPECT_EQ(pool.stats().chunks, 0u);
}

// Threads allocate, write a pattern, hand buffers to each other's "operations", and check that
// no other thread wrote.
TEST(BufferPool, ManyThreads) {
  BufferPool pool({.idle_time = std::chrono::milliseconds(0)});
  constexpr int kThreads = 4;
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int id = 0; id < kThreads; ++id) {
    threads.emplace_back([&pool, id] {
      std::mt19937 random(static_cast<unsigned>(id));
      for (int i = 0; i < 300; ++i) {
        const std::size_t bytes = 1 + random() % (512 * kKiB);
        Result<Buffer*> result = pool.allocate(bytes);
        ASSERT_TRUE(result.ok());
        Buffer* buffer = *result;
        ASSERT_EQ(buffer->data()[0], std::byte{0});
        ASSERT_EQ(buffer->data()[bytes - 1], std::byte{0});
        const auto mark = static_cast<std::byte>(id + 1);
        BufferUse use(*buffer);
        std::thread operation;
        if (i % 16 == 0) {
          operation = std::thread([moved = std::move(use), mark, bytes]() mutable {
            const BufferUse held = std::move(moved);
            held.get()->data()[bytes - 1] = mark;
          });
        }
        buffer->data()[0] = mark;
        ASSERT_EQ(buffer->data()[0], mark);
        buffer->close();
        if (operation.joinable()) operation.join();
        if (i % 64 == 0) pool.release_idle();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const BufferPoolStats stats = pool.stats();
  EXPECT_EQ(stats.buffers, 0u);
  EXPECT_EQ(stats.owned_bytes, 0u);
  EXPECT_EQ(stats.quarantined_bytes, 0u);
}

}  // namespace
}  // namespace dhpvm::offload
