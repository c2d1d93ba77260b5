// SPDX-License-Identifier: Apache-2.0
#include "gc/mark_worker.h"

#include <algorithm>
#include <utility>

namespace dhpvm::gc {
namespace {

// 16 MiB. Only chains of arrays have more that wait; what further ones refer to goes to the stack at once.
constexpr std::size_t kMostRests = std::size_t{1} << 20;

// An object at most so many bytes away is in the cache already, or being fetched.
constexpr std::uintptr_t kNear = 256;
constexpr std::uintptr_t kAhead = 512;

// Reads the header's second word atomically: other workers may be setting kUnlogged in it.
Header header_of(Object* object) {
  std::atomic_ref word(object->header.size_and_flags);
  return {object->header.type, word.load(std::memory_order_relaxed)};
}

}  // namespace

// An array may be long, so only one worker traces it.
bool MarkWorker::mark_outside(Object* object) {
  if (header_of(object).has(kImmortal)) return false;
  std::atomic_ref marked(LargeNode::of(object)->marked);
  return !marked.load(std::memory_order_relaxed) && !marked.exchange(true, std::memory_order_relaxed);
}

void MarkWorker::trace(Object* object) {
  MarkStack::Cursor stack(stack_);
  if (Object* const near = trace_onto(stack, object)) stack.push_again(near);
}

[[gnu::always_inline]] inline Object* MarkWorker::trace_onto(MarkStack::Cursor& stack, Object* object) {
  const Trace what = traces_[object->header.type];
  if (what.kind == Trace::Kind::kLeaf) return nullptr;
  // From now on the object is old, and the write barrier has to log it. Tested first: in a full collection
  // the flag is set already on most objects, and their cache lines stay clean.
  Header header = header_of(object);
  if (!header.has(kUnlogged)) {
    header.set(kUnlogged);
    std::atomic_ref(object->header.size_and_flags).store(header.size_and_flags, std::memory_order_relaxed);
  }
  if (what.kind == Trace::Kind::kReferences) return push_fields(stack, object, what.references);
  stack.close();
  trace_array(reinterpret_cast<Array*>(object));
  stack.open();
  return nullptr;
}

[[gnu::noinline]] void MarkWorker::trace_array(Array* array) {
  Rest rest{array, 0};
  if (rests_.size() < kMostRests) {
    rests_.push_back(rest);
  } else {
    trace_slice(rest, SIZE_MAX);
  }
}

namespace {

std::uintptr_t distance(const Object* from, const Object* to) {
  const auto difference = reinterpret_cast<std::intptr_t>(to) - reinterpret_cast<std::intptr_t>(from);
  return static_cast<std::uintptr_t>(difference < 0 ? -difference : difference);
}

}  // namespace

// The stack returns first what was pushed last, so of the first and the last field the one nearer in memory is pushed
// last: a structure is then marked in the order in which it was built, and the processor fetches ahead. That halves the
// time for a tree of 1 GiB that was built from the top. A very near object does not even go to the stack: it is
// returned, to be marked next. Marking is bound by the number of its instructions, so one and two fields have code of
// their own; and nothing branches on whether a field is null, which no processor predicts well.
[[gnu::always_inline]] inline Object* MarkWorker::push_fields(MarkStack::Cursor& stack, const Object* object,
                                                              std::size_t count) {
  if (stack.room() < count) [[unlikely]] {
    overflowed_ = true;
    return nullptr;
  }
  const auto* const fields = reinterpret_cast<const Ref*>(object + 1);
  Object* nearer = fields[0];
  std::uintptr_t apart = distance(object, nearer);
  if (count == 2) [[likely]] {
    Object* const second = fields[1];
    const std::uintptr_t second_apart = distance(object, second);
    const bool is_second = second_apart < apart;
    stack.push_unless_null(is_second ? nearer : second);
    nearer = is_second ? second : nearer;
    apart = is_second ? second_apart : apart;
  } else if (count > 2) {
    const bool is_last = distance(object, fields[count - 1]) < apart;
    for (std::size_t i = 1; i < count; ++i)
      stack.push_unless_null(is_last ? fields[i - 1] : fields[count - i]);
    if (is_last) nearer = fields[count - 1];
    apart = distance(object, nearer);
  }
  if (apart <= kNear) return nearer;
  stack.push_unless_null(nearer);
  return nullptr;
}

void MarkWorker::trace_slice(Rest& rest, std::size_t most) {
  const Array& array = *rest.array;
  const auto length = array.data == nullptr ? std::size_t{0} : static_cast<std::size_t>(array.length);
  if (rest.next >= length) return;  // also if the program has closed the array meanwhile
  const std::size_t first = std::exchange(rest.next, rest.next + std::min(most, length - rest.next));
  visit_elements(array, types_[array.header.type], first, rest.next,
                 [this](const Ref* slots, std::size_t count) { push_range(slots, count); });
}

// Traces one slice of the array that was met last.
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

// The stack's order is kept, but between the stack and its mark an object spends sixteen turns in a queue while
// its header and mark byte are on their way into the cache. This is worth a factor of two and more on heaps
// that exceed the cache.
bool MarkWorker::drain(std::size_t steps) {
  // Copies in registers: what is stored through `this` would be loaded again for each object.
  const BlockSpace::View blocks = blocks_.view();
  MarkStack::Cursor stack(stack_);
  std::size_t position = position_;
  std::size_t waiting = waiting_;
  std::size_t marked = 0;
  for (; steps != 0; --steps) {
    Object* next = nullptr;
    if (!stack.empty()) [[likely]] {
      next = stack.pop();
      __builtin_prefetch(next, 1);
      if (blocks.contains(next)) [[likely]]
        __builtin_prefetch(blocks.mark_of(next), 1);
      ++waiting;
    } else if (waiting == 0) {
      stack.close();
      stack_.rewind();
      if (!rests_.empty()) trace_rest();
      stack.open();
      if (stack.empty() && rests_.empty()) break;
      continue;
    }
    Object* const ready = std::exchange(pending_[position], next);
    position = (position + 1) % kPrefetchDistance;
    if (ready == nullptr) continue;
    --waiting;
    for (Object* object = ready;;) {
      if (blocks.contains(object)) [[likely]] {
        std::uint8_t* const mark = blocks.mark_of(object);
        if (std::atomic_ref(*mark).load(std::memory_order_relaxed) != 0) break;
        const std::size_t granules = header_of(object).granules();
        marked += granules;
        set_mark(mark, granules);
      } else if (!mark_outside(object)) {
        break;
      }
      object = trace_onto(stack, object);
      if (object == nullptr) break;
      // A structure that was built in this order continues behind the object.
      __builtin_prefetch(reinterpret_cast<const std::byte*>(object) + kAhead, 1);
      if (--steps == 0) [[unlikely]] {
        stack.push_again(object);
        steps = 1;
        break;
      }
    }
  }
  position_ = position;
  waiting_ = waiting;
  marked_ += marked;
  return steps != 0;
}

void MarkWorker::adopt(MarkWorker& other) {
  for (Object*& object : other.pending_) {
    if (object != nullptr) push(std::exchange(object, nullptr));
  }
  other.waiting_ = 0;
  for (Object* const object : other.stack_.all()) push(object);
  other.stack_.rewind();
  rests_.insert(rests_.end(), other.rests_.begin(), other.rests_.end());
  other.rests_.clear();
}

void MarkWorker::abandon() {
  pending_.fill(nullptr);
  waiting_ = 0;
  stack_.rewind();
  rests_.clear();
  marked_ = 0;
  overflowed_ = false;
}

void MarkWorker::give(std::vector<Object*>& packet) {
  constexpr std::size_t kWorthSharing = 4;
  constexpr std::size_t kMost = 256;
  if (stack_.size() < kWorthSharing) return;
  const std::span<Object* const> oldest = stack_.take_oldest(std::min(stack_.size() / 2, kMost));
  packet.insert(packet.end(), oldest.begin(), oldest.end());
}

}  // namespace dhpvm::gc
