// SPDX-License-Identifier: Apache-2.0
// One thread's part in marking: its stack of objects to trace, and the loop that traces them.
//
// Several workers may mark the same heap at once. Mark bytes and the kUnlogged flag are read and written as relaxed
// atomics: two workers that meet at an object both trace it, which costs time and changes nothing.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "gc/block_space.h"
#include "gc/large_space.h"
#include "gc/mark_stack.h"
#include "gc/object.h"

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

// The part of a TypeInfo that marking needs, in a quarter of its size.
struct Trace {
  enum class Kind : std::uint8_t { kLeaf, kReferences, kElements };
  std::uint32_t references;
  Kind kind;
};

class MarkWorker {
 public:
  // Root ranges and large arrays are taken in slices, so that the stack's depth does not follow their length.
  static constexpr std::size_t kSlice = 1024;

  MarkWorker(const BlockSpace& blocks, std::span<const TypeInfo> types, std::span<const Trace> traces)
      : blocks_(blocks), types_(types), traces_(traces) {}
  // A minor collection may have begun and not ended: what it has on the stack is dropped.
  ~MarkWorker() {
    if (!is_done()) abandon();
  }
  MarkWorker(const MarkWorker&) = delete;
  MarkWorker& operator=(const MarkWorker&) = delete;
  // Call it before anything else. False if the system refuses the smallest stack.
  bool reserve_stack(std::size_t bytes, ReservationPool* pool) { return stack_.reserve(bytes, pool); }
  void trim() const { stack_.trim(); }

  // Adds an object that is to be marked, if it is not yet, and traced.
  void push(Object* object) {
    if (!stack_.push(object)) [[unlikely]]
      overflowed_ = true;
  }
  void push_range(const Ref* slots, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      if (slots[i] != nullptr) push(slots[i]);
    }
  }
  // Pushes what `object` refers to; `object` itself is marked already.
  void trace(Object* object);

  // The number of objects that wait on the stack.
  std::size_t waiting() const { return stack_.size(); }

  // Takes up to `steps` objects from the stack. True when there is nothing left to do.
  bool drain(std::size_t steps);

  // Moves about half of what waits, the oldest first, to the end of `packet`; moves nothing if hardly anything waits.
  void give(std::vector<Object*>& packet);

  // Whether nothing waits.
  bool is_done() const { return stack_.empty() && waiting_ == 0 && rests_.empty(); }
  // Takes over everything that waits in `other`.
  void adopt(MarkWorker& other);
  // Forgets everything that waits, and the count of marked granules.
  void abandon();
  // Calls visit(object, is_array) for everything that waits: objects to be marked, and arrays with elements to be
  // marked.
  template <typename Visit>
  void for_each_waiting(Visit&& visit) const {
    for (Object* const object : stack_.all()) visit(object, false);
    for (Object* const object : pending_) {
      if (object != nullptr) visit(object, false);
    }
    for (const Rest& rest : rests_) visit(reinterpret_cast<Object*>(rest.array), true);
  }

  std::size_t marked() const { return marked_; }
  // The granules in blocks that were marked since the last call.
  std::size_t take_marked() { return std::exchange(marked_, 0); }

  bool has_overflowed() const { return overflowed_; }
  // Whether the stack was full since the last call: children of marked objects may be unmarked then.
  bool take_overflowed() {
    const bool overflowed = overflowed_;
    overflowed_ = false;
    return overflowed;
  }

 private:
  struct Rest {  // elements of an array that wait for their turn
    Array* array;
    std::size_t next;
  };
  static constexpr std::size_t kPrefetchDistance = 16;

  Object* trace_onto(MarkStack::Cursor& stack, Object* object);
  Object* push_fields(MarkStack::Cursor& stack, const Object* object, std::size_t count);
  void trace_array(Array* array);
  static bool mark_outside(Object* object);
  void trace_slice(Rest& rest, std::size_t most);
  void trace_rest();

  const BlockSpace& blocks_;
  const std::span<const TypeInfo> types_;
  const std::span<const Trace> traces_;
  MarkStack stack_;
  std::vector<Rest> rests_;
  // Between the stack and the mark: a ring.
  std::array<Object*, kPrefetchDistance> pending_{};
  std::size_t position_ = 0;
  std::size_t waiting_ = 0;
  std::size_t marked_ = 0;
  bool overflowed_ = false;
};

}  // namespace dhpvm::gc
