// SPDX-License-Identifier: Apache-2.0
#include "gc/mark_worker.h"

#include <algorithm>
#include <utility>

namespace dhpvm::gc {
namespace {

// 16 MiB. More arrays wait only in chains of arrays; what they refer to then goes to the stack at once.
constexpr std::size_t kMostRests = std::size_t{1} << 20;

// The header's second word, which other workers may be setting kUnlogged in.
Header header_of(Object* object) {
  std::atomic_ref word(object->header.size_and_flags);
  return {object->header.type, word.load(std::memory_order_relaxed)};
}

}  // namespace

inline void MarkWorker::mark(Object* object) {
  if (blocks_.contains(object)) [[likely]] {
    std::uint8_t* const mark = blocks_.mark_of(object);
    if (std::atomic_ref(*mark).load(std::memory_order_relaxed) != 0) return;
    const std::size_t granules = header_of(object).granules();
    marked_ += granules;
    set_mark(mark, granules);
  } else if (!mark_outside(object)) {
    return;
  }
  trace(object);
}

// Arrays may be long, so that exactly one worker traces each.
bool MarkWorker::mark_outside(Object* object) {
  if (header_of(object).has(kImmortal)) return false;
  std::atomic_ref marked(LargeNode::of(object)->marked);
  return !marked.load(std::memory_order_relaxed) && !marked.exchange(true, std::memory_order_relaxed);
}

void MarkWorker::trace(Object* object) {
  const Trace what = traces_[object->header.type];
  if (what.kind == Trace::Kind::kLeaf) return;
  // From now on the object is old, and the write barrier has to log it. Tested first: in a full collection
  // the flag is set already on most objects, and their cache lines stay clean.
  Header header = header_of(object);
  if (!header.has(kUnlogged)) {
    header.set(kUnlogged);
    std::atomic_ref(object->header.size_and_flags).store(header.size_and_flags, std::memory_order_relaxed);
  }
  if (what.kind == Trace::Kind::kReferences) return push_fields(object, what.references);
  Rest rest{reinterpret_cast<Array*>(object), 0};
  if (rests_.size() < kMostRests) {
    rests_.push_back(rest);
  } else {
    trace_slice(rest, SIZE_MAX);
  }
}

// The stack gives back first what was pushed last: of the first and the last field, that is to be the object nearer in
// memory, so that a structure is marked in the order in which it was built, and the processor fetches ahead. A tree of
// 1 GiB built from the top takes 0.3 s in place of 0.7.
void MarkWorker::push_fields(const Object* object, std::size_t count) {
  const auto* const fields = reinterpret_cast<const Ref*>(object + 1);
  const auto distance = [&](Ref to) {
    const auto from = reinterpret_cast<std::uintptr_t>(object);
    const auto address = reinterpret_cast<std::uintptr_t>(to);
    return address < from ? from - address : address - from;
  };
  if (distance(fields[0]) >= distance(fields[count - 1])) return push_range(fields, count);
  for (std::size_t i = count; i-- > 0;) {
    if (fields[i] != nullptr) push(fields[i]);
  }
}

void MarkWorker::trace_slice(Rest& rest, std::size_t most) {
  const Array& array = *rest.array;
  const auto length = array.data == nullptr ? std::size_t{0} : static_cast<std::size_t>(array.length);
  const std::size_t first = std::exchange(rest.next, rest.next + std::min(most, length - rest.next));
  if (rest.next == first) return;
  visit_elements(array, types_[array.header.type], first, rest.next,
                 [this](const Ref* slots, std::size_t count) { push_range(slots, count); });
}

// One slice of the array that was met last.
void MarkWorker::trace_rest() {
  Rest rest = rests_.back();
  trace_slice(rest, kSlice);
  const auto length = static_cast<std::size_t>(rest.array->length);
  if (rest.array->data == nullptr || rest.next >= length) {
    rests_.pop_back();
  } else {
    rests_.back() = rest;
  }
}

// The stack's order is kept, but between the stack and mark() an object spends sixteen turns in a queue while
// its header and mark byte are on their way into the cache. This is worth a factor of two and more on heaps
// that exceed the cache.
bool MarkWorker::drain(std::size_t steps) {
  std::size_t position = position_;
  std::size_t waiting = waiting_;
  for (; steps != 0; --steps) {
    Object* next = nullptr;
    if (!stack_.empty()) {
      next = stack_.pop();
      __builtin_prefetch(next, 1);
      if (blocks_.contains(next)) __builtin_prefetch(blocks_.mark_of(next), 1);
      ++waiting;
    } else if (waiting == 0) {
      stack_.rewind();
      if (rests_.empty()) break;
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
  position_ = position;
  waiting_ = waiting;
  return steps != 0;
}

void MarkWorker::give(std::vector<Object*>& packet) {
  constexpr std::size_t kWorthSharing = 4;
  constexpr std::size_t kMost = 256;
  if (stack_.size() < kWorthSharing) return;
  const std::span<Object* const> oldest = stack_.take_oldest(std::min(stack_.size() / 2, kMost));
  packet.insert(packet.end(), oldest.begin(), oldest.end());
}

}  // namespace dhpvm::gc
