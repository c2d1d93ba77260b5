// SPDX-License-Identifier: Apache-2.0
#include "offload/memory/mapping.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstdint>

namespace dhpvm::offload {

Mapping::Mapping(std::size_t bytes) {
  // Map more than needed and cut both ends off: the only way to an alignment above a page.
  const std::size_t mapped = bytes + kHugePage;
  if (mapped < bytes) return;
  void* start =
      mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (start == MAP_FAILED) return;
  auto* const address = static_cast<std::byte*>(start);
  const std::size_t before = -reinterpret_cast<std::uintptr_t>(start) & (kHugePage - 1);
  std::byte* const aligned = address + before;
  if (before != 0) munmap(start, before);
  munmap(aligned + bytes, mapped - before - bytes);
  data_ = aligned;
  size_ = bytes;
  // Best effort: small pages work too, with 512 times the faults and slower registration.
  madvise(data_, size_, MADV_HUGEPAGE);
}

Mapping::~Mapping() {
  if (data_ != nullptr) munmap(data_, size_);
}

bool Mapping::populate(std::size_t offset, std::size_t bytes) const {
#ifdef MADV_POPULATE_WRITE
  while (madvise(data_ + offset, bytes, MADV_POPULATE_WRITE) != 0) {
    if (errno == EAGAIN || errno == EINTR) continue;
    // Kernels before 5.14 do not know the call: the pages come with their first use.
    return errno == EINVAL;
  }
#endif
  return true;
}

}  // namespace dhpvm::offload
