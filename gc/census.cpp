// SPDX-License-Identifier: Apache-2.0
// Heap::census: the objects that hold the memory, for the message of an out-of-memory error.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "gc/heap.h"

namespace dhpvm::gc {

// Walks mark bytes, not references, so that it needs no memory in proportion to the heap, which is full.
std::string Heap::census(std::size_t top) const {
  struct Row {
    TypeId type = 0;
    std::size_t objects = 0;
    std::size_t bytes = 0;
  };
  std::vector<Row> rows(types_.size());
  const auto count = [&](const Object* object, std::size_t bytes) {
    Row& row = rows[object->header.type];
    row.type = object->header.type;
    ++row.objects;
    row.bytes += bytes;
  };
  for (BlockIndex block = 0; block < blocks_.high_water(); ++block) {
    if (!blocks_.holds_objects(block)) continue;
    for_each_marked(blocks_.marks_of(block), [&](std::size_t granule) {
      const auto* object = reinterpret_cast<const Object*>(blocks_.address_of(block) + granule * kGranule);
      count(object, object->header.granules() * kGranule);
    });
  }
  for (const std::vector<LargeNode*>* list : {&large_.young(), &large_.old()}) {
    for (LargeNode* node : *list) {
      if (node->marked) count(node->object(), node->size);
    }
  }
  std::erase_if(rows, [](const Row& row) { return row.objects == 0; });
  std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.bytes > b.bytes; });
  std::string text = fmt::format("{} bytes are live, in {} bytes of blocks and {} bytes of large objects",
                                 live_bytes(), blocks_.used_bytes(), large_.bytes());
  for (std::size_t i = 0; i < std::min(top, rows.size()); ++i) {
    const char* name = types_[rows[i].type].name;
    fmt::format_to(std::back_inserter(text), "\n  {:>12} bytes in {:>9} {}", rows[i].bytes, rows[i].objects,
                   name);
  }
  return text;
}

}  // namespace dhpvm::gc
