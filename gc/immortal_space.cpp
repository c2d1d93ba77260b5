// SPDX-License-Identifier: Apache-2.0
#include "gc/immortal_space.h"

#include <algorithm>
#include <cstdlib>

namespace dhpvm::gc {
namespace {
constexpr std::size_t kChunkBytes = 16 * 1024;
}

void ImmortalSpace::Free::operator()(std::byte* memory) const { std::free(memory); }

std::byte* ImmortalSpace::allocate(std::size_t bytes) {
  if (bytes > left_) {
    const std::size_t chunk = std::max(bytes, kChunkBytes);
    auto* memory = static_cast<std::byte*>(std::calloc(1, chunk));
    if (memory == nullptr) return nullptr;
    chunks_.push_back({std::unique_ptr<std::byte[], Free>(memory), chunk});
    // A constant larger than a chunk does not end the current one.
    if (chunk == bytes) {
      bytes_ += bytes;
      return memory;
    }
    cursor_ = memory;
    left_ = chunk;
  }
  std::byte* result = cursor_;
  cursor_ += bytes;
  left_ -= bytes;
  bytes_ += bytes;
  return result;
}

bool ImmortalSpace::contains(const void* address) const {
  for (const Chunk& chunk : chunks_) {
    if (address >= chunk.memory.get() && address < chunk.memory.get() + chunk.size) return true;
  }
  return false;
}

}  // namespace dhpvm::gc
