// SPDX-License-Identifier: Apache-2.0
// Objects over 8 KiB: each its own allocation, with a node in front that holds what blocks keep
// in side tables.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "gc/layout.h"
#include "gc/object.h"

namespace dhpvm::gc {

// Directly in front of the object. 32 bytes, so that the object keeps its 16-byte alignment.
struct alignas(16) LargeNode {
  std::size_t size;  // of the object, in bytes
  std::uint8_t*
      cards;  // arrays of references: one byte per kCardSize of elements, 1 if remembered; else null
  std::uint32_t card_count;
  bool marked;
  bool young;

  Object* object() { return reinterpret_cast<Object*>(this + 1); }
  static LargeNode* of(Object* object) { return reinterpret_cast<LargeNode*>(object) - 1; }
};
static_assert(sizeof(LargeNode) == 32);

// Uses the plain thread-safe malloc interface: a heap may move between threads, a mi_heap_t may not.
class LargeSpace {
 public:
  LargeSpace() = default;
  LargeSpace(const LargeSpace&) = delete;
  LargeSpace& operator=(const LargeSpace&) = delete;
  ~LargeSpace();

  // The bytes by which allocate() raises bytes().
  static std::size_t footprint(std::size_t size, std::size_t card_bytes);
  // An object of `size` bytes: zeroed, or with undefined contents behind the first granule. Its header is for the
  // caller to fill. `card_bytes`: the bytes of elements that cards are to cover. Null when the system has no memory.
  Object* allocate(std::size_t size, std::size_t card_bytes, bool zeroed);

  // Before a full collection. Clears the marks of young objects too, which a minor collection in parts may have set.
  void clear_marks();
  // Frees unmarked objects: among the young ones (minor) or all (full). The survivors are old.
  void sweep_young(bool scribble);
  void sweep_all(bool scribble);

  // Gives the memory of freed objects back to the system; the allocator keeps it for new ones otherwise.
  static void release_empty();

  std::size_t bytes() const { return bytes_; }
  const std::vector<LargeNode*>& young() const { return young_; }
  const std::vector<LargeNode*>& old() const { return old_; }

 private:
  void release(LargeNode* node, bool scribble);

  std::vector<LargeNode*> young_;
  std::vector<LargeNode*> old_;
  std::size_t bytes_ = 0;
};

}  // namespace dhpvm::gc
