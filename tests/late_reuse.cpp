// SPDX-License-Identifier: Apache-2.0
// A library that is preloaded into programs. What they delete is overwritten, and its memory used again only after many
// other deletions: whoever follows a pointer to an object that is gone crashes each time, where otherwise a new object
// mostly lies there, of the same size. LLVM, which follows many pointers of ours, is not compiled with sanitizers.
#include <malloc.h>

#include <array>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>

namespace {

constexpr std::size_t kMostBytes = 1024;  // larger pieces are given back at once
constexpr int kGone = 0xdd;               // pointers of this byte lead nowhere

class Deleted {
 public:
  // Gives the oldest piece back, which may be null.
  void* exchange(void* piece) {
    const std::lock_guard guard(lock_);
    void* const oldest = pieces_[next_];
    pieces_[next_] = piece;
    next_ = (next_ + 1) % pieces_.size();
    return oldest;
  }

 private:
  std::mutex lock_;
  std::size_t next_ = 0;
  std::array<void*, std::size_t{1} << 18> pieces_{};
};
constinit Deleted deleted;

void* allocate(std::size_t size) noexcept { return std::malloc(size == 0 ? 1 : size); }
void* allocate(std::size_t size, std::align_val_t alignment) noexcept {
  return ::memalign(static_cast<std::size_t>(alignment), size);
}
void* or_throw(void* memory) {
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

void give_back(void* memory) noexcept {
  if (memory == nullptr) return;
  const std::size_t size = ::malloc_usable_size(memory);
  if (size > kMostBytes) return std::free(memory);
  std::memset(memory, kGone, size);
  std::free(deleted.exchange(memory));
}

}  // namespace

// Those of arrays call these, and so do those that take sizes.
void* operator new(std::size_t size) { return or_throw(allocate(size)); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return or_throw(allocate(size, alignment));
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return allocate(size); }
void* operator new(std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return allocate(size, alignment);
}
void operator delete(void* memory) noexcept { give_back(memory); }
void operator delete(void* memory, std::size_t) noexcept { give_back(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { give_back(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { give_back(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { give_back(memory); }
void operator delete(void* memory, std::align_val_t, const std::nothrow_t&) noexcept { give_back(memory); }
