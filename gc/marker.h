// SPDX-License-Identifier: Apache-2.0
// Marks everything reachable from what it is shown.
//
// The same code serves minor and full collections: marks are sticky, so in a minor collection old objects are
// already marked and tracing stops at them.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "dhpvm/result.h"
#include "gc/block_space.h"
#include "gc/large_space.h"
#include "gc/mark_stack.h"
#include "gc/object.h"
#include "gc/roots.h"

namespace dhpvm::gc {

// Calls visit(const Ref* slots, std::size_t count) for every run of references in elements [first, last) of
// an array whose elements hold references.
template <typename Visitor>
void visit_elements(const Array& array, const TypeInfo& type, std::size_t first, std::size_t last,
                    Visitor&& visit) {
  const bool plain = type.element_size == sizeof(Ref);  // the element is one reference
  if (plain) return visit(reinterpret_cast<const Ref*>(array.data) + first, last - first);
  for (std::size_t index = first; index < last; ++index) {
    const std::byte* element = array.data + index * type.element_size;
    for (std::uint32_t i = 0; i < type.element_reference_count; ++i) {
      visit(reinterpret_cast<const Ref*>(element + type.element_references[i]), std::size_t{1});
    }
  }
}

// The elements [first, last) that share bytes with `card` of a large array.
struct ElementRange {
  std::size_t first;
  std::size_t last;
};
ElementRange elements_of_card(const Array& array, const TypeInfo& type, std::size_t card);

class Marker final : public RootVisitor {
 public:
  Marker(BlockSpace& blocks, LargeSpace& large, std::span<const TypeInfo> types);
  // Before anything else. False if the system refuses the smallest stack.
  bool reserve_stack(std::size_t bytes) { return stack_.reserve(bytes); }

  void visit_range(const Ref* slots, std::size_t count) override;

  // Marks what `object`, itself marked already, refers to.
  void scan(Object* object);
  // The same, for the elements under the dirty cards of a large array; cleans the cards.
  void scan_dirty_cards(LargeNode* node);

  // Until nothing reachable is unmarked.
  void finish();

  bool is_marked(const Object* object) const;
  void trim_stack() const { stack_.trim(); }

 private:
  enum class Kind : std::uint8_t { kLeaf, kReferences, kElements };
  // What marking needs of a TypeInfo, in a quarter of its size.
  struct Trace {
    std::uint32_t references;
    Kind kind;
  };
  struct Rest {  // elements of an array that wait for their turn
    Array* array;
    std::size_t next;
  };
  static constexpr std::size_t kPrefetchDistance = 16;

  void push(Object* object);
  void push_range(const Ref* slots, std::size_t count);
  void mark(Object* object);
  bool mark_outside(Object* object);
  void trace(Object* object);
  void trace_rest();
  void drain();
  void rescan();
  void rescan_object(Object* object);

  BlockSpace& blocks_;
  LargeSpace& large_;
  std::span<const TypeInfo> types_;
  std::vector<Trace> traces_;
  MarkStack stack_;
  bool overflowed_ = false;
  std::vector<Rest> rests_;
  std::array<Object*, kPrefetchDistance> pending_{};
};

}  // namespace dhpvm::gc
