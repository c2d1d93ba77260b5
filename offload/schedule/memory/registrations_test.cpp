// SPDX-License-Identifier: Apache-2.0
#include "offload/schedule/memory/registrations.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"

namespace dhpvm::offload {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

// Knows host memory, and keeps count; has nothing else of a device.
class ImportingDevice final : public Device {
 public:
  struct Imported {
    std::byte* data;
    std::size_t size;
    HostMemory kind;
  };

  ImportingDevice() { info_.name = "importing"; }
  ~ImportingDevice() override { EXPECT_TRUE(imported.empty()); }

  const DeviceInfo& info() const override { return info_; }
  Result<std::shared_ptr<DeviceMemory>> allocate(std::size_t) override { return unsupported(); }
  Result<std::shared_ptr<DeviceMemory>> import_host(std::span<std::byte> memory, HostMemory kind) override {
    if (!accepts || (kind == HostMemory::kPinned && !pins))
      return Error(ErrorCode::kDeviceFailed, "not allowed");
    const std::lock_guard lock(mutex_);
    // As drivers do: no byte is registered twice.
    for (const Imported& other : imported) {
      EXPECT_TRUE(memory.data() + memory.size() <= other.data || other.data + other.size <= memory.data());
    }
    imported.push_back({memory.data(), memory.size(), kind});
    ++imports;
    return std::shared_ptr<DeviceMemory>(std::make_shared<Memory>(*this, memory));
  }
  Result<std::shared_ptr<Kernel>> load(const KernelImage&) override { return unsupported(); }
  Result<std::unique_ptr<Queue>> create_queue(QueueOptions) override { return unsupported(); }
  Result<std::shared_ptr<Semaphore>> create_semaphore(std::uint64_t) override { return unsupported(); }
  DeviceStats stats() const override { return {}; }
  std::chrono::nanoseconds now() const override { return {}; }

  std::vector<Imported> imported;
  int imports = 0;
  bool accepts = true;
  bool pins = true;

 private:
  class Memory final : public DeviceMemory {
   public:
    Memory(ImportingDevice& device, std::span<std::byte> memory) : device_(device), memory_(memory) {}
    ~Memory() override {
      // Registered memory must be there until it is unregistered.
      memory_.front() = memory_.back();
      const std::lock_guard lock(device_.mutex_);
      std::erase_if(device_.imported, [&](const Imported& other) { return other.data == memory_.data(); });
    }
    std::size_t size() const override { return memory_.size(); }
    std::byte* host() const override { return memory_.data(); }

   private:
    ImportingDevice& device_;
    std::span<std::byte> memory_;
  };
  static Error unsupported() { return Error(ErrorCode::kUnsupported, "this device has no such thing"); }

  DeviceInfo info_;
  std::mutex mutex_;
};

Buffer* allocate(BufferPool& pool, std::size_t bytes) {
  Result<Buffer*> buffer = pool.allocate(bytes, BufferContents::kUndefined);
  EXPECT_TRUE(buffer.ok()) << buffer.error().to_string();
  return buffer.value_or(nullptr);
}

void expect_buffers_part(const Result<MemorySpan>& span, const Buffer& buffer) {
  ASSERT_TRUE(span.ok()) << span.error().to_string();
  EXPECT_EQ(span->memory->host() + span->offset, buffer.data());
  EXPECT_EQ(span->bytes, buffer.size());
  EXPECT_LE(span->offset + span->bytes, span->memory->size());
}

TEST(Registrations, OneForAllBuffersOfAChunk) {
  ImportingDevice device;
  BufferPool pool;
  Registrations registrations(pool);
  Buffer* first = allocate(pool, 100'000);
  Buffer* second = allocate(pool, 5 * kMiB);
  EXPECT_EQ(device.imports, 0);  // not before a request
  expect_buffers_part(registrations.span_of(device, *first), *first);
  expect_buffers_part(registrations.span_of(device, *second), *second);
  EXPECT_EQ(device.imports, 1);
  EXPECT_EQ(device.imported[0].size, BufferPool::kChunkSize);
  EXPECT_EQ(device.imported[0].kind, HostMemory::kPinned);
  EXPECT_EQ(registrations.stats().made, 1u);
  EXPECT_EQ(registrations.stats().registered, 1u);
  EXPECT_EQ(registrations.stats().fallbacks, 0u);
  first->close();
  second->close();
}

TEST(Registrations, EachDeviceHasItsOwn) {
  ImportingDevice left;
  ImportingDevice right;
  BufferPool pool;
  Registrations registrations(pool);
  Buffer* buffer = allocate(pool, kMiB);
  expect_buffers_part(registrations.span_of(left, *buffer), *buffer);
  expect_buffers_part(registrations.span_of(right, *buffer), *buffer);
  EXPECT_EQ(left.imports, 1);
  EXPECT_EQ(right.imports, 1);
  registrations.forget(left);
  EXPECT_TRUE(left.imported.empty());
  EXPECT_EQ(right.imported.size(), 1u);
  EXPECT_EQ(registrations.stats().registered, 1u);
  buffer->close();
}

// Buffers come and go, small ones and such with a chunk of their own: nothing is registered any more after a while.
TEST(Registrations, SteadyStateMakesNone) {
  ImportingDevice device;
  BufferPool pool;
  Registrations registrations(pool);
  std::mt19937 random(5);
  const std::size_t sizes[] = {70'000, 3 * kMiB, 20 * kMiB, 40 * kMiB};
  std::vector<Buffer*> buffers;
  for (int i = 0; i < 8; ++i) buffers.push_back(allocate(pool, sizes[static_cast<unsigned>(i) % 4]));
  for (Buffer* buffer : buffers) ASSERT_TRUE(registrations.span_of(device, *buffer).ok());
  const int imports = device.imports;
  for (int i = 0; i < 1000; ++i) {
    const std::size_t which = random() % buffers.size();
    buffers[which]->close();
    buffers[which] = allocate(pool, sizes[which % 4]);
    ASSERT_TRUE(registrations.span_of(device, *buffers[which]).ok());
  }
  EXPECT_EQ(device.imports, imports);
  for (Buffer* buffer : buffers) buffer->close();
}

TEST(Registrations, GoBeforeTheMemoryDoes) {
  ImportingDevice device;
  BufferPool pool({.cache_bytes = 0});
  Registrations registrations(pool);
  Buffer* small = allocate(pool, kMiB);
  Buffer* large = allocate(pool, 40 * kMiB);
  ASSERT_TRUE(registrations.span_of(device, *small).ok());
  ASSERT_TRUE(registrations.span_of(device, *large).ok());
  EXPECT_EQ(device.imported.size(), 2u);
  large->close();
  EXPECT_EQ(device.imported.size(), 1u);
  small->close();
  EXPECT_EQ(device.imported.size(), 1u);  // the chunk that is kept
  pool.release_idle();
  EXPECT_TRUE(device.imported.empty());
  EXPECT_EQ(registrations.stats().made, 2u);
  EXPECT_EQ(registrations.stats().registered, 0u);
}

// Other pages in their place would be unknown to a device that has pinned these.
TEST(Registrations, KeepThePagesOfPartlyUsedChunks) {
  ImportingDevice device;
  BufferPool pool;
  Registrations registrations(pool);
  Buffer* kept = allocate(pool, kMiB);
  Buffer* dropped = allocate(pool, kMiB);
  const std::byte* const data = dropped->data();
  dropped->data()[0] = std::byte{7};
  ASSERT_TRUE(registrations.span_of(device, *kept).ok());
  dropped->close();
  pool.release_idle();
  EXPECT_EQ(*data, std::byte{7});
  registrations.forget(device);
  pool.release_idle();
  EXPECT_EQ(*data, std::byte{0});
  kept->close();
}

// An operation holds what it works on for a moment longer than the buffer.
TEST(Registrations, MemoryStaysMappedWhileAnOperationHoldsIt) {
  ImportingDevice device;
  BufferPool pool({.cache_bytes = 0});
  Registrations registrations(pool);
  Buffer* buffer = allocate(pool, 40 * kMiB);
  Result<MemorySpan> span = registrations.span_of(device, *buffer);
  ASSERT_TRUE(span.ok());
  buffer->close();
  EXPECT_EQ(pool.stats().mapped_bytes, 40 * kMiB);
  EXPECT_EQ(device.imported.size(), 1u);
  *span = {};
  pool.release_idle();
  EXPECT_EQ(pool.stats().mapped_bytes, 0u);
  EXPECT_TRUE(device.imported.empty());
}

TEST(Registrations, GoesOnPageableAndSaysSoOnce) {
  ImportingDevice device;
  device.pins = false;
  BufferPool pool;
  std::vector<std::string> warnings;
  Registrations registrations(pool, {.warn = [&](const std::string& text) { warnings.push_back(text); }});
  Buffer* first = allocate(pool, 40 * kMiB);
  Buffer* second = allocate(pool, 50 * kMiB);
  expect_buffers_part(registrations.span_of(device, *first), *first);
  expect_buffers_part(registrations.span_of(device, *second), *second);
  EXPECT_EQ(device.imported[0].kind, HostMemory::kPageable);
  EXPECT_EQ(registrations.stats().fallbacks, 2u);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("'importing' (not allowed)"), std::string::npos) << warnings[0];
  first->close();
  second->close();
}

TEST(Registrations, FailsWhereTheDeviceTakesNothing) {
  ImportingDevice device;
  device.accepts = false;
  BufferPool pool;
  Registrations registrations(pool);
  Buffer* buffer = allocate(pool, kMiB);
  const Result<MemorySpan> refused = registrations.span_of(device, *buffer);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::kDeviceFailed);
  EXPECT_EQ(registrations.stats().registered, 0u);
  EXPECT_EQ(registrations.stats().made, 0u);
  device.accepts = true;
  EXPECT_TRUE(registrations.span_of(device, *buffer).ok());
  buffer->close();
}

TEST(Registrations, FromManyThreads) {
  ImportingDevice device;
  BufferPool pool({.cache_bytes = 0, .idle_time = std::chrono::milliseconds(0)});
  Registrations registrations(pool);
  std::vector<std::thread> threads;
  for (unsigned id = 0; id < 4; ++id) {
    threads.emplace_back([&, id] {
      std::mt19937 random(id);
      for (int i = 0; i < 100; ++i) {
        Buffer* buffer = allocate(pool, i % 10 == 0 ? 34 * kMiB : 64'000 + random() % (4 * kMiB));
        const BufferUse use(*buffer);
        const Result<MemorySpan> span = registrations.span_of(device, *buffer);
        ASSERT_TRUE(span.ok());
        ASSERT_EQ(span->memory->host() + span->offset, buffer->data());
        buffer->close();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  pool.release_idle();
  EXPECT_EQ(pool.stats().chunks, 0u);
  EXPECT_EQ(registrations.stats().registered, 0u);
}

}  // namespace
}  // namespace dhpvm::offload
