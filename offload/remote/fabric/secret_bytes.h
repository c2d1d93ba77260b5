// SPDX-License-Identifier: Apache-2.0
// Memory for keys: pages of their own, which are not swapped out, are in no core dump, and are wiped when they are
// given back. Where the system locks no more memory for this process (RLIMIT_MEMLOCK), the rest still holds.
#pragma once

#include <cstddef>
#include <vector>

namespace dhpvm::offload {

// Whole pages; ends the process when there is no memory, as operator new does. Thread-safe.
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
