// SPDX-License-Identifier: Apache-2.0
// Objects that live as long as the heap: string constants. They hold no references and are never traced.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "gc/object.h"

namespace dhpvm::gc {

class ImmortalSpace {
 public:
  // Zeroed memory of `bytes` bytes (a multiple of a granule), aligned to a granule. Null when out of memory.
  std::byte* allocate(std::size_t bytes);
  std::size_t bytes() const { return bytes_; }
  bool contains(const void* address) const;

 private:
  struct Free {
    void operator()(std::byte* memory) const;
  };
  struct Chunk {
    std::unique_ptr<std::byte[], Free> memory;
    std::size_t size;
  };
  std::vector<Chunk> chunks_;
  std::byte* cursor_ = nullptr;
  std::size_t left_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace dhpvm::gc
