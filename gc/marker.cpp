// SPDX-License-Identifier: Apache-2.0
#include "gc/marker.h"

#include <algorithm>

namespace dhpvm::gc {
namespace {

// Root ranges and large arrays are taken in slices, so that the stack's depth does not follow their length.
constexpr std::size_t kSlice = 1024;

}  // namespace

ElementRange elements_of_card(const Array& array, const TypeInfo& type, std::size_t card) {
  const auto length = static_cast<std::size_t>(array.length);
  const std::size_t first = card * kCardSize / type.element_size;
  const std::size_t last = ((card + 1) * kCardSize + type.element_size - 1) / type.element_size;
  return {std::min(first, length), std::min(last, length)};
}

Marker::Marker(BlockSpace& blocks, LargeSpace& large, std::span<const TypeInfo> types)
    : blocks_(blocks), large_(large), types_(types) {
  traces_.reserve(types.size());
  for (const TypeInfo& type : types) {
    Trace trace{0, Kind::kLeaf};
    if (type.shape == Shape::kInstance && type.references != 0) trace = {type.references, Kind::kReferences};
    if (type.shape == Shape::kRefArray && type.element_reference_count != 0) trace.kind = Kind::kElements;
    traces_.push_back(trace);
  }
}

bool Marker::is_marked(const Object* object) const {
  if (blocks_.contains(object)) return *blocks_.mark_of(object) != 0;
  if (object->header.has(kImmortal)) return true;
  return LargeNode::of(const_cast<Object*>(object))->marked;
}

inline void Marker::push(Object* object) {
  if (!stack_.push(object)) [[unlikely]]
    overflowed_ = true;
}

inline void Marker::push_range(const Ref* slots, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    if (slots[i] != nullptr) push(slots[i]);
  }
}

inline void Marker::mark(Object* object) {
  if (blocks_.contains(object)) [[likely]] {
    std::uint8_t* mark = blocks_.mark_of(object);
    if (*mark != 0) return;
    set_mark(mark, object->header.granules());
  } else if (!mark_outside(object)) {
    return;
  }
  trace(object);
}

bool Marker::mark_outside(Object* object) {
  if (object->header.has(kImmortal)) return false;
  LargeNode* node = LargeNode::of(object);
  return !std::exchange(node->marked, true);
}

inline void Marker::trace(Object* object) {
  const Trace what = traces_[object->header.type];
  if (what.kind == Kind::kLeaf) return;
  // From now on the object is old, and the write barrier has to log it. Tested first: in a full collection
  // the flag is set already on most objects, and their cache lines stay clean.
  if (!object->header.has(kUnlogged)) object->header.set(kUnlogged);
  if (what.kind == Kind::kReferences) {
    push_range(reinterpret_cast<const Ref*>(object + 1), what.references);
  } else {
    rests_.push_back({reinterpret_cast<Array*>(object), 0});
  }
}

// One slice of the array that was met last.
void Marker::trace_rest() {
  Rest& rest = rests_.back();
  const Array& array = *rest.array;
  const auto length = array.data == nullptr ? std::size_t{0} : static_cast<std::size_t>(array.length);
  const std::size_t first = rest.next;
  const std::size_t last = first + std::min(kSlice, length - std::min(first, length));
  rest.next = last;
  if (last >= length) rests_.pop_back();
  if (first >= last) return;
  visit_elements(array, types_[array.header.type], first, last,
                 [this](const Ref* slots, std::size_t count) { push_range(slots, count); });
}

// The stack's order is kept, but between the stack and mark() an object spends sixteen turns in a queue while
// its header and mark byte are on their way into the cache. This is worth a factor of two and more on heaps
// that exceed the cache.
void Marker::drain() {
  std::size_t position = 0;
  std::size_t waiting = 0;
  for (;;) {
    Object* next = nullptr;
    if (!stack_.empty()) {
      next = stack_.pop();
      __builtin_prefetch(next, 1);
      if (blocks_.contains(next)) __builtin_prefetch(blocks_.mark_of(next), 1);
      ++waiting;
    } else if (waiting == 0) {
      if (rests_.empty()) return;
      trace_rest();
      continue;
    }
    Object* ready = std::exchange(pending_[position], next);
    position = (position + 1) % kPrefetchDistance;
    if (ready != nullptr) {
      --waiting;
      mark(ready);
    }
  }
}

void Marker::visit_range(const Ref* slots, std::size_t count) {
  for (std::size_t first = 0; first < count; first += kSlice) {
    push_range(slots + first, std::min(kSlice, count - first));
    drain();
  }
}

void Marker::scan(Object* object) {
  trace(object);
  drain();
}

void Marker::scan_dirty_cards(LargeNode* node) {
  const auto& array = *reinterpret_cast<Array*>(node->object());
  const TypeInfo& type = types_[array.header.type];
  for (std::size_t card = 0; card < node->card_count; ++card) {
    if (node->cards[card] == 0) continue;
    node->cards[card] = 0;
    const ElementRange range = elements_of_card(array, type, card);
    visit_elements(array, type, range.first, range.last,
                   [this](const Ref* slots, std::size_t count) { push_range(slots, count); });
  }
  drain();
}

void Marker::finish() {
  drain();
  while (overflowed_) {
    overflowed_ = false;
    rescan();
  }
}

// After an overflow some marked objects refer to unmarked ones: finds them by looking at every marked object.
void Marker::rescan() {
  for (BlockIndex block = 0; block < blocks_.high_water(); ++block) {
    if (!blocks_.holds_objects(block)) continue;
    for_each_marked(blocks_.marks_of(block), [&](std::size_t granule) {
      rescan_object(reinterpret_cast<Object*>(blocks_.address_of(block) + granule * kGranule));
    });
  }
  for (const std::vector<LargeNode*>* list : {&large_.young(), &large_.old()}) {
    for (LargeNode* node : *list) {
      if (node->marked) rescan_object(node->object());
    }
  }
}

void Marker::rescan_object(Object* object) {
  const Trace what = traces_[object->header.type];
  const auto push_unmarked = [this](const Ref* slots, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      if (slots[i] != nullptr && !is_marked(slots[i])) push(slots[i]);
    }
  };
  if (what.kind == Kind::kReferences)
    push_unmarked(reinterpret_cast<const Ref*>(object + 1), what.references);
  if (what.kind == Kind::kElements) {
    const auto& array = *reinterpret_cast<Array*>(object);
    const auto length = array.data == nullptr ? std::size_t{0} : static_cast<std::size_t>(array.length);
    visit_elements(array, types_[array.header.type], 0, length, push_unmarked);
  }
  drain();
}

}  // namespace dhpvm::gc
