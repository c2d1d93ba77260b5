// SPDX-License-Identifier: Apache-2.0
#include "offload/remote/fabric/secret_bytes.h"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>

namespace dhpvm::offload {

void* allocate_secret(std::size_t bytes) {
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) std::abort();
  static_cast<void>(mlock(memory, bytes));
  static_cast<void>(madvise(memory, bytes, MADV_DONTDUMP));
  return memory;
}

void free_secret(void* memory, std::size_t bytes) {
  explicit_bzero(memory, bytes);
  munmap(memory, bytes);
}

}  // namespace dhpvm::offload
