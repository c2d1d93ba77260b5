// SPDX-License-Identifier: Apache-2.0
// Memory for what the code of a loop packs (KernelChunk::panels): as many pieces as threads run chunks, for as long as
// the loop runs.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

namespace dhpvm::offload {

// Thread-safe.
class PanelMemory {
 public:
  // Throws std::bad_alloc. Pages that are never written to are not taken from the system.
  PanelMemory(unsigned threads, std::size_t bytes)
      : memory_(bytes == 0 ? nullptr : allocate(threads * bytes)) {
    for (unsigned n = 0; bytes != 0 && n < threads; ++n) free_.push_back(memory_.get() + n * bytes);
  }

  // Of a chunk; null where the code packs nothing.
  class Piece {
   public:
    explicit Piece(PanelMemory& owner) : owner_(owner), data_(owner.take()) {}
    ~Piece() { owner_.give_back(data_); }
    Piece(const Piece&) = delete;
    Piece& operator=(const Piece&) = delete;
    std::byte* data() const { return data_; }

   private:
    PanelMemory& owner_;
    std::byte* const data_;
  };

 private:
  static constexpr std::align_val_t kLine{64};
  struct Free {
    void operator()(std::byte* memory) const { ::operator delete(memory, kLine); }
  };
  static std::byte* allocate(std::size_t bytes) {
    return static_cast<std::byte*>(::operator new(bytes, kLine));
  }

  std::byte* take() {
    if (memory_ == nullptr) return nullptr;
    const std::lock_guard lock(mutex_);
    std::byte* const piece = free_.back();
    free_.pop_back();
    return piece;
  }
  void give_back(std::byte* piece) {
    if (piece == nullptr) return;
    const std::lock_guard lock(mutex_);
    free_.push_back(piece);
  }

  const std::unique_ptr<std::byte, Free> memory_;
  std::mutex mutex_;
  std::vector<std::byte*> free_;
};

}  // namespace dhpvm::offload
