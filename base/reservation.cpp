// SPDX-License-Identifier: Apache-2.0
#include "base/reservation.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

namespace dhpvm {

Reservation::Reservation(std::size_t bytes, std::size_t alignment) {
  const auto map = [](std::size_t size) {
    return mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  };
  const std::size_t mapped = bytes + alignment;
  if (mapped < bytes) return;
  // Kernels from 6.7 on align mappings of multiples of 2 MiB by themselves, and every mapping is aligned to 4 KiB.
  void* start = map(bytes);
  if (start == MAP_FAILED) return;
  if ((reinterpret_cast<std::uintptr_t>(start) & (alignment - 1)) == 0) {
    data_ = static_cast<std::byte*>(start);
    size_ = bytes;
    return;
  }
  // Map more than needed and cut both ends off: the only way to an alignment that the system does not choose.
  munmap(start, bytes);
  start = map(mapped);
  if (start == MAP_FAILED) return;
  auto* const address = static_cast<std::byte*>(start);
  const std::size_t before = -reinterpret_cast<std::uintptr_t>(start) & (alignment - 1);
  std::byte* const aligned = address + before;
  if (before != 0) munmap(start, before);
  munmap(aligned + bytes, mapped - before - bytes);
  data_ = aligned;
  size_ = bytes;
}

Reservation::~Reservation() {
  if (data_ != nullptr) munmap(data_, size_);
}

void Reservation::prefer_huge_pages(std::size_t offset) const {
  if (offset < size_) madvise(data_ + offset, size_ - offset, MADV_HUGEPAGE);
}

void Reservation::prefer_small_pages(std::size_t offset) const {
  if (offset < size_) madvise(data_ + offset, size_ - offset, MADV_NOHUGEPAGE);
}

bool Reservation::populate(std::size_t offset, std::size_t bytes) const {
#ifdef MADV_POPULATE_WRITE
  while (madvise(data_ + offset, bytes, MADV_POPULATE_WRITE) != 0) {
    if (errno == EAGAIN || errno == EINTR) continue;
    // Kernels before 5.14 do not know the call: the pages come with their first use.
    return errno == EINVAL;
  }
#endif
  return true;
}

void Reservation::discard(std::size_t offset, std::size_t bytes) const {
  if (madvise(data_ + offset, bytes, MADV_DONTNEED) == 0) return;
  // The system keeps the pages of a process that has locked its memory (mlockall), but a new mapping replaces them.
  if (mmap(data_ + offset, bytes, PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED)
    std::memset(data_ + offset, 0, bytes);
}

}  // namespace dhpvm
