// SPDX-License-Identifier: Apache-2.0
// The control block of an off-heap buffer: the place of its bytes, and the number of its users.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "dhpvm/result.h"

namespace dhpvm::offload {

class BufferPool;
struct PoolChunk;

// Knows where the current contents of a buffer are when they are not, or not only, in the host's memory: on a device,
// or on their way. Belongs to the buffer, and is made when the contents first leave the host. Both functions block, may
// be called from any thread, and fail with the error of the operation that should have brought the contents.
class BufferCopies {
 public:
  // Runs when the buffer is reclaimed, on the thread that dropped its last reference: the collector's, or that of a
  // device which ended a use. No operation is in flight on the buffer, and no lock of the pool is held.
  virtual ~BufferCopies() = default;
  // Afterwards the host may read the buffer, until another loop is submitted.
  virtual Status to_host_for_reading() = 0;
  // Afterwards the host may write it: nothing in flight reads or writes it, and no other copy counts as current.
  virtual Status to_host_for_writing() = 0;
};

// Created by BufferPool::allocate. Its references are one for the handle (the array object in the heap) plus one per
// operation in flight (a copy to a device, say). A buffer whose handle is gone stays in quarantine until no operation
// is in flight, so that no late write hits memory with a new owner. Thread-safe.
class Buffer {
 public:
  // Aligned to 4096 bytes. Valid as long as a reference is held.
  std::byte* data() const { return data_; }
  // The size that was requested.
  std::size_t size() const { return size_; }
  // The bytes that it occupies: they count against the budget, and are reported to the heap as external bytes.
  std::size_t capacity() const { return capacity_; }
  // The chunk of the pool that contains it, which is registered with devices as a whole.
  std::span<std::byte> chunk() const;

  // Null: the host's memory has the only copy. Set once, by the thread that has the handle; destroyed when the buffer
  // is reclaimed.
  BufferCopies* copies() const { return copies_.get(); }
  void set_copies(std::unique_ptr<BufferCopies> copies) { copies_ = std::move(copies); }

  // The handle gives up its reference: after this the caller must not touch the buffer. Exactly once, from
  // the handle's cleaner or an explicit close. Never waits for an operation of a device.
  void close();
  // Whether the handle is gone; only a hint, except on the thread that closes.
  bool is_closed() const { return closed_.load(std::memory_order_relaxed); }

  // An operation begins or ends to use the data. For begin_use() the caller must hold a reference.
  void begin_use() { references_.fetch_add(1, std::memory_order_relaxed); }
  void end_use();
  // The number of operations in flight; only a hint, because others may begin and end.
  std::uint32_t uses() const;

 private:
  friend class BufferPool;
  bool drop_reference();

  BufferPool* pool_ = nullptr;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
  PoolChunk* chunk_ = nullptr;
  std::unique_ptr<BufferCopies> copies_;
  std::atomic<std::uint32_t> references_{0};
  std::atomic<bool> closed_{false};
};

// One use of a buffer; the destructor ends it.
class BufferUse {
 public:
  BufferUse() = default;
  explicit BufferUse(Buffer& buffer) : buffer_(&buffer) { buffer.begin_use(); }
  BufferUse(BufferUse&& other) noexcept : buffer_(std::exchange(other.buffer_, nullptr)) {}
  BufferUse& operator=(BufferUse&& other) noexcept {
    std::swap(buffer_, other.buffer_);
    return *this;
  }
  ~BufferUse() {
    if (buffer_ != nullptr) buffer_->end_use();
  }
  Buffer* get() const { return buffer_; }

 private:
  Buffer* buffer_ = nullptr;
};

}  // namespace dhpvm::offload
