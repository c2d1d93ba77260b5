// SPDX-License-Identifier: Apache-2.0
#include "gc/verifier.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "gc/heap.h"

namespace dhpvm::gc {

Verifier::Verifier(const Heap& heap) : heap_(heap) {
  for (const std::vector<LargeNode*>* list : {&heap.large_.young(), &heap.large_.old()}) {
    for (LargeNode* node : *list) large_.insert(node->object());
  }
  heap.remembered_.for_each([this](const Object* object) { remembered_.insert(object); });
  heap.marker_.for_each_waiting(
      [this](const Object* object, bool is_array) { (is_array ? tracing_ : waiting_).insert(object); });
}

Status Verifier::check() {
  heap_.visit_all_roots(*this);
  while (!work_.empty() && fault_.empty()) {
    const Object* object = work_.back();
    work_.pop_back();
    check_references(object);
  }
  if (fault_.empty()) check_overlaps();
  if (fault_.empty()) return {};
  return error(ErrorCode::kInternal, "{}", fault_);
}

Status Verifier::check_after(CollectionKind kind) {
  DHPVM_TRY(check());
  check_marks(kind);
  if (fault_.empty()) return {};
  return error(ErrorCode::kInternal, "{}", fault_);
}

void Verifier::visit_range(const Ref* slots, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) reach(slots[i], nullptr);
}

void Verifier::fail(std::string message) {
  if (fault_.empty()) fault_ = std::move(message);
}

std::string Verifier::describe(const Object* object) const {
  if (object == nullptr) return "a root";
  return fmt::format("the {} at {}", heap_.types_[object->header.type].name,
                     static_cast<const void*>(object));
}

void Verifier::reach(const Object* object, const Object* holder) {
  if (object == nullptr || !fault_.empty() || !reached_.insert(object).second) return;
  const std::string fault = fault_of(object);
  if (!fault.empty()) {
    return fail(
        fmt::format("{} refers to {}, {}", describe(holder), static_cast<const void*>(object), fault));
  }
  work_.push_back(object);
}

// Checks that the object's address is plausible first, so that a wild reference is reported rather than followed.
std::string Verifier::fault_of(const Object* object) const {
  const auto address = reinterpret_cast<std::uintptr_t>(object);
  if (address % kGranule != 0) return "which is not aligned";
  const bool in_block = heap_.blocks_.contains(object);
  if (in_block) {
    const auto offset =
        static_cast<std::size_t>(reinterpret_cast<const std::byte*>(object) - heap_.blocks_.base());
    const auto block = static_cast<BlockIndex>(offset / kBlockSize);
    if (block >= heap_.blocks_.high_water() || !heap_.blocks_.holds_objects(block))
      return "which lies in a free block";
    if (heap_.bump_.is_unused(heap_.area_, object)) return "which lies in memory not yet allocated";
  } else if (!large_.contains(object) && !heap_.immortal_.contains(object)) {
    return "which is no object of this heap";
  }
  const Header& header = object->header;
  if (header.type >= heap_.types_.size()) return fmt::format("whose type {} does not exist", header.type);
  if (header.has(kLarge) != large_.contains(object)) return "whose kLarge flag is wrong";
  if (header.has(kImmortal) != heap_.immortal_.contains(object)) return "whose kImmortal flag is wrong";
  if (in_block) {
    const std::size_t offset =
        (address - reinterpret_cast<std::uintptr_t>(heap_.blocks_.base())) % kBlockSize;
    if (header.granules() == 0) return "whose size is zero";
    if (header.granules() * kGranule > kBlockSize - offset) return "which crosses the end of its block";
  } else if (header.granules() != 0) {
    return "which is outside the blocks but has a size in granules";
  }
  return fault_of_shape(object);
}

std::string Verifier::fault_of_shape(const Object* object) const {
  const Header& header = object->header;
  const TypeInfo& type = heap_.types_[header.type];
  std::size_t actual = header.granules() * kGranule;
  if (header.has(kLarge)) actual = LargeNode::of(const_cast<Object*>(object))->size;
  std::size_t size = type.size;
  if (type.shape == Shape::kString) size = sizeof(String) + reinterpret_cast<const String*>(object)->size;
  if (type.shape == Shape::kArray || type.shape == Shape::kRefArray) {
    const auto& array = *reinterpret_cast<const Array*>(object);
    if (array.length < 0) return "an array of negative length";
    if (array.readable > array.length || array.writable > array.length)
      return "an array with a bound above its length";
    // A closed array no longer knows where its elements were, and some arrays have been moved to a buffer since:
    // elements inside the object take up their room until it dies.
    const bool closed = array.data == nullptr;
    const bool inside = array.data == reinterpret_cast<const std::byte*>(object) + type.size ||
                        ((closed || array.buffer != nullptr) && actual > round_up(size, kGranule));
    if (inside) size += static_cast<std::size_t>(array.length) * type.element_size;
    if (type.shape == Shape::kRefArray && !inside && !closed)
      return "an array of references with its elements elsewhere";
  }
  size = round_up(size, kGranule);
  if (header.has(kImmortal)) actual = size;
  if (actual != size) {
    return fmt::format("a {} of {} bytes whose header says {}", type.name, size, actual);
  }
  return {};
}

bool Verifier::is_old(const Object* object) const { return heap_.marker_.is_marked(object); }

void Verifier::check_references(const Object* object) {
  const TypeInfo& type = heap_.types_[object->header.type];
  const bool old = is_old(object);
  const LargeNode* node = object->header.has(kLarge) ? LargeNode::of(const_cast<Object*>(object)) : nullptr;
  const bool has_cards = node != nullptr && node->cards != nullptr;
  const bool may_refer =
      (type.shape == Shape::kInstance && type.references != 0) || type.shape == Shape::kRefArray;
  if (old && may_refer) {
    if (!object->header.has(kUnlogged) && !remembered_.contains(object)) {
      return fail(fmt::format("{} is neither unlogged nor in the remembered set", describe(object)));
    }
  }
  // `card` matters for large arrays only.
  const auto check_slot = [&](Ref target, std::size_t byte) {
    reach(target, object);
    if (target == nullptr || !fault_.empty() || !old || is_old(target)) return;
    if (!object->header.has(kUnlogged)) return;
    if (has_cards && node->cards[byte / kCardSize] != 0) return;
    if (is_waiting(object, target)) return;
    fail(fmt::format("{} is old and refers to {}, which is young, without a write barrier", describe(object),
                     describe(target)));
  };
  if (type.shape == Shape::kInstance) {
    const auto* slots = reinterpret_cast<const Ref*>(object + 1);
    for (std::uint32_t i = 0; i < type.references; ++i) check_slot(slots[i], 0);
  } else if (type.shape == Shape::kRefArray) {
    const auto& array = *reinterpret_cast<const Array*>(object);
    const std::int64_t length = array.data == nullptr ? 0 : array.length;
    for (std::int64_t index = 0; index < length; ++index) {
      for (std::uint32_t i = 0; i < type.element_reference_count; ++i) {
        const std::size_t byte =
            static_cast<std::size_t>(index) * type.element_size + type.element_references[i];
        check_slot(*reinterpret_cast<const Ref*>(array.data + byte), byte);
      }
    }
  } else if (type.shape == Shape::kWeak) {
    const Ref target = reinterpret_cast<const Weak*>(object)->target;
    // A weak target is not followed, and may be dead until the next collection; but it is never freed yet.
    const std::string fault = target == nullptr ? std::string{} : fault_of(target);
    if (!fault.empty())
      fail(fmt::format("{} refers weakly to {}, {}", describe(object), static_cast<const void*>(target),
                       fault));
  }
}

void Verifier::check_overlaps() {
  std::vector<const Object*> sorted;
  for (const Object* object : reached_) {
    if (heap_.blocks_.contains(object)) sorted.push_back(object);
  }
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    const auto* end =
        reinterpret_cast<const std::byte*>(sorted[i - 1]) + sorted[i - 1]->header.granules() * kGranule;
    if (end > reinterpret_cast<const std::byte*>(sorted[i])) {
      return fail(fmt::format("{} overlaps {}", describe(sorted[i - 1]), describe(sorted[i])));
    }
  }
}

void Verifier::check_marks(CollectionKind kind) {
  std::size_t reached_in_blocks = 0;
  for (const Object* object : reached_) {
    if (!is_old(object)) return fail(fmt::format("{} is reachable but not marked", describe(object)));
    if (!heap_.blocks_.contains(object)) continue;
    ++reached_in_blocks;
    const std::uint8_t* mark = heap_.blocks_.mark_of(object);
    if ((mark[0] & kMarkStart) == 0 || (mark[object->header.granules() - 1] & kMarkEnd) == 0) {
      return fail(fmt::format("{} has damaged mark bytes", describe(object)));
    }
  }
  if (kind == CollectionKind::kMinor) return;  // marks are sticky: dead old objects keep theirs
  std::size_t marked = 0;
  for (BlockIndex block = 0; block < heap_.blocks_.high_water(); ++block) {
    for_each_marked(heap_.blocks_.marks_of(block), [&](std::size_t) { ++marked; });
  }
  if (marked != reached_in_blocks) {
    return fail(fmt::format("{} objects are marked but only {} are reachable", marked, reached_in_blocks));
  }
  for (const Object* object : large_) {
    if (!reached_.contains(object))
      return fail(fmt::format("{} is dead but was not freed", describe(object)));
  }
}

}  // namespace dhpvm::gc
