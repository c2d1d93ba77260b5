// SPDX-License-Identifier: Apache-2.0 Memory for the operands that a loop's code packs (KernelChunk::panels): one piece
// for each thread that runs chunks, as long as the loop runs. It does not count towards a program's limits: whether a
// program stays within them must not depend on whether a loop is compiled, or on the number of threads.
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
  // The system provides a page when it is first written.
  PanelMemory(unsigned threads, std::size_t bytes)
      : bytes_(threads * bytes), memory_(bytes == 0 ? nullptr : allocate(bytes_)) {
    for (unsigned n = 0; memory_ != nullptr && n < threads; ++n) free_.push_back(memory_.get() + n * bytes);
  }

  // The number of bytes that the system refused: all or none.
  std::size_t missing() const { return memory_ == nullptr ? bytes_ : 0; }

  // The memory for one chunk; null if the code packs nothing.
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
    return static_cast<std::byte*>(::operator new(bytes, kLine, std::nothrow));
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

  const std::size_t bytes_;
  const std::unique_ptr<std::byte, Free> memory_;
  std::mutex mutex_;
  std::vector<std::byte*> free_;
};

}  // namespace dhpvm::offload
