// SPDX-License-Identifier: Apache-2.0
// Memory for keys: separate pages that are not swapped out, are left out of core dumps, and are wiped when they are
// freed. If the system locks no more memory for this process (RLIMIT_MEMLOCK), pages may be swapped; the rest still
// holds.
#pragma once

#include <cstddef>
#include <vector>

namespace dhpvm::offload {

// Whole pages. Like operator new, it ends the process when there is no memory. Thread-safe.
void* allocate_secret(std::size_t bytes);
void free_secret(void* memory, std::size_t bytes);

template <typename T>
struct SecretAllocator {
  using value_type = T;
  SecretAllocator() = default;
  template <typename U>
  explicit SecretAllocator(const SecretAllocator<U>&) {}
  T* allocate(std::size_t count) { return static_cast<T*>(allocate_secret(count * sizeof(T))); }
  void deallocate(T* memory, std::size_t count) { free_secret(memory, count * sizeof(T)); }
  bool operator==(const SecretAllocator&) const = default;
};

using SecretBytes = std::vector<std::byte, SecretAllocator<std::byte>>;

}  // namespace dhpvm::offload
