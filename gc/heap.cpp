// SPDX-License-Identifier: Apache-2.0
#include "gc/heap.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/memory_shortage.h"

namespace dhpvm::gc {
namespace {

// Address space for blocks, as a multiple of the bytes that they may occupy: sparse blocks occupy only some of their
// pages.
constexpr std::size_t kSparseness = 4;
constexpr std::size_t kMaximumObject = std::size_t{1} << 41;

}  // namespace

const char* to_string(CollectionKind kind) { return kind == CollectionKind::kMinor ? "minor" : "full"; }

const char* to_string(CollectionReason reason) {
  switch (reason) {
    case CollectionReason::kNursery: return "nursery";
    case CollectionReason::kGrowth: return "growth";
    case CollectionReason::kLimit: return "limit";
    case CollectionReason::kExternal: return "external";
    case CollectionReason::kStress: return "stress";
    case CollectionReason::kIdle: return "idle";
    case CollectionReason::kRequested: return "requested";
  }
  return "unknown";
}

Heap::Heap(const HeapOptions& options, std::span<const TypeInfo> types, RootProvider& roots)
    : options_(options),
      types_(types),
      roots_(roots),
      marker_(blocks_, large_, types, options.thread_pool),
      external_(options.external_budget_bytes),
      // A nursery must not take most of a small heap.
      nursery_(options.nursery_bytes,
               options.limit_bytes == 0 ? 0 : std::max(options.limit_bytes / 8, kBlockSize)),
      attention_(options.stress != 0),
      stress_countdown_(options.stress) {}

Result<std::unique_ptr<Heap>> Heap::create(const HeapOptions& options, std::span<const TypeInfo> types,
                                           RootProvider& roots) {
  std::unique_ptr<Heap> heap(new Heap(options, types, roots));
  std::size_t reservation = options.reservation_bytes;
  if (options.limit_bytes != 0 && options.limit_bytes < reservation / kSparseness)
    reservation = kSparseness * options.limit_bytes;
  DHPVM_TRY(heap->blocks_.reserve(reservation, options.verify, options.address_space));
  // Where address space is scarce, the mark stack must not take what the blocks have left to other uses.
  std::size_t stack = options.mark_stack_bytes;
  if (heap->blocks_.reserved_bytes() < reservation)
    stack = std::min(stack, heap->blocks_.reserved_bytes() / 8);
  if (!heap->marker_.reserve_stack(stack, options.address_space)) {
    return error(ErrorCode::kOutOfMemory, "the system grants no address space for the mark stack: {}",
                 memory_shortage());
  }
  heap->limits_.set(heap->size());
  if (options.tracer != nullptr) heap->trace_track_ = options.tracer->add_track("gc");
  return heap;
}

Heap::~Heap() {
  cleaners_.run_all();
  while (handles_.next_ != &handles_) {
    RootBase* handle = handles_.next_;
    handle->unlink();
    handle->ref_ = nullptr;
  }
}

// ---- Allocation

Object* Heap::allocate_slow(TypeId type, std::size_t size) {
  // In a fragmented heap this is nearly as hot as the inlined path.
  if (size <= kMediumThreshold && !attention_) [[likely]] {
    if (std::byte* memory = bump_.take_open(area_, size)) [[likely]]
      return initialize_object(memory, type, size);
  }
  return allocate_sized(type, size, 0, Contents::kZeroed);
}

// Runs the collections that are due for other reasons than a lack of memory.
void Heap::safepoint() {
  attention_ = false;
  bump_.rearm(area_);
  if (options_.stress != 0 && --stress_countdown_ == 0) {
    stress_countdown_ = options_.stress;
    collect_under_stress();
  } else if (requested_) {
    const CollectionReason reason = std::exchange(requested_reason_, CollectionReason::kExternal);
    collect(*requested_, reason);
    if (reason == CollectionReason::kIdle) release_memory();
  }
}

bool Heap::is_idle(IdleWatch::Wait wait) {
  return idle_watch_.due(IdleWatch::Clock::now(), allocated_bytes() + external_added_,
                         blocks_.resident_bytes() + large_.bytes() + external_.live(), wait);
}

void Heap::rest(IdleWatch::Wait wait) {
  if (!is_idle(wait)) return;
  collect(CollectionKind::kFull, CollectionReason::kIdle);
  release_memory();
}

void Heap::look_for_idleness() {
  if (requested_ || !is_idle(IdleWatch::kRunning)) return;
  requested_ = CollectionKind::kFull;
  requested_reason_ = CollectionReason::kIdle;
  demand_attention();
}

void Heap::release_memory() {
  blocks_.release_empty();
  if (blocks_.used_bytes() - blocks_.live_bytes() > blocks_.live_bytes() / 8) blocks_.release_pages();
  LargeSpace::release_empty();
  marker_.trim_stacks();
  if (options_.release_memory) options_.release_memory();
}

Object* Heap::allocate_sized(TypeId type, std::size_t size, std::size_t card_bytes, Contents contents) {
  if (attention_) safepoint();
  Object* object = nullptr;
  if (size > kLargeThreshold) {
    object = allocate_large(type, size, card_bytes, contents);
  } else {
    object = allocate_or_collect(size, [&](Shortage& shortage, bool) -> Object* {
      std::byte* memory = take_small(size, shortage);
      return memory == nullptr ? nullptr : initialize_object(memory, type, size);
    });
  }
  if (options_.stress != 0) demand_attention();
  return object;
}

// Calls take(shortage, after_full) until it returns an object. In between it collects as the shortage demands: at most
// one minor collection, in parts or as a whole, then a full one, and at last relieve(). A second minor collection would
// not help: where the first has freed no hole that is large enough, the next would not either, although the holes that
// were opened in vain would make it seem worthwhile for ever.
template <typename Take>
Object* Heap::allocate_or_collect(std::size_t size, Take&& take) {
  bool after_minor = false;
  bool after_full = false;
  bool relieved = false;
  for (;;) {
    Shortage shortage = Shortage::kNursery;
    if (Object* object = take(shortage, after_full)) return object;
    if (relieved) return give_up(shortage, size);
    if (after_full) {
      relieve();
      relieved = true;
      continue;
    }
    const bool at_limit = limits_.is_limit_near();
    const bool nursery = shortage == Shortage::kNursery;
    if (!after_minor && nursery &&
        (is_marking_ || !limits_.is_full_due(live_bytes() - large_allocated_, nursery_.bytes()))) {
      collect_part(CollectionReason::kNursery);
      after_minor = !is_marking_;
      continue;
    }
    if (!after_minor && !nursery &&
        (is_marking_ || (at_limit && limits_.is_worth_a_minor(bump_.opened_bytes() + large_allocated_)))) {
      collect(CollectionKind::kMinor, CollectionReason::kNursery);
      after_minor = true;
      continue;
    }
    const bool short_of_memory = at_limit || !fits_memory(size);
    collect(CollectionKind::kFull, short_of_memory ? CollectionReason::kLimit : CollectionReason::kGrowth);
    if (limits_.is_nearly_full(live_bytes())) return give_up(Shortage::kGrowth, size);
    after_full = true;
  }
}

Object* Heap::give_up(Shortage shortage, std::size_t size) {
  shortfall_ = shortage == Shortage::kSystem ? Shortfall::kSystem
               : fits_memory(size)           ? Shortfall::kLimit
                                             : Shortfall::kMemory;
  return nullptr;
}

bool Heap::fits_memory(std::size_t bytes) const {
  if (options_.memory_bytes == 0) return true;
  // Includes the empty blocks: large objects and arrays outside the heap cannot use them.
  const std::size_t occupied = blocks_.resident_bytes() + large_.bytes() + external_.live();
  return occupied <= options_.memory_bytes && bytes <= options_.memory_bytes - occupied;
}

// A full collection has left holes that are too small: their pages go back to the system.
void Heap::relieve() {
  release_memory();
  blocks_.release_pages();
  limits_.raise(size());
}

std::byte* Heap::take_small(std::size_t size, Shortage& shortage) {
  shortage = Shortage::kNursery;
  if (std::byte* memory = area_.take(size)) return memory;
  if (nursery_used_up()) return nullptr;
  if (std::byte* memory = bump_.take(area_, size)) return memory;
  shortage = Shortage::kGrowth;
  if (!limits_.may_grow(this->size(), kBlockSize, is_marking_)) return nullptr;
  if (blocks_.used_bytes() + kBlockSize > blocks_.resident_bytes() && !fits_memory(kBlockSize))
    return nullptr;
  shortage = Shortage::kSystem;
  return bump_.take_from_fresh(area_, size);
}

Object* Heap::allocate_large(TypeId type, std::size_t size, std::size_t card_bytes, Contents contents) {
  const std::size_t bytes = LargeSpace::footprint(size, card_bytes);
  return allocate_or_collect(bytes, [&](Shortage& shortage, bool after_full) -> Object* {
    shortage = Shortage::kNursery;
    if (nursery_used_up()) return nullptr;
    shortage = Shortage::kGrowth;
    if (!limits_.may_grow(this->size(), bytes, is_marking_)) blocks_.sweep_all();
    if (!limits_.may_grow(this->size(), bytes, is_marking_)) {
      // One object may exceed the expected growth of the heap; only the limit is absolute.
      if (!after_full) return nullptr;
      if (!limits_.is_within_limit(footprint() + bytes)) return nullptr;
    }
    if (!fits_memory(bytes)) return nullptr;
    shortage = Shortage::kSystem;
    Object* object = large_.allocate(size, card_bytes, contents == Contents::kZeroed);
    if (object == nullptr) return nullptr;
    object->header = Header{type, static_cast<std::uint32_t>(kLarge) << Header::kFlagShift};
    large_allocated_ += bytes;
    if (!is_marking_ && limits_.is_above_threshold(footprint())) limits_.allow_more(this->size());
    return object;
  });
}

String* Heap::allocate_string_slow(TypeId type, std::size_t size) {
  if (size > UINT32_MAX) return nullptr;
  const std::size_t bytes = round_up(sizeof(String) + size, kGranule);
  auto* string = reinterpret_cast<String*>(allocate_sized(type, bytes, 0, Contents::kUndefined));
  if (string == nullptr) return nullptr;
  string->size = static_cast<std::uint32_t>(size);
  string->hash = 0;
  return string;
}

Array* Heap::allocate_array(TypeId type, const TypeInfo& info, std::int64_t length) {
  std::size_t element_bytes = 0;
  if (__builtin_mul_overflow(static_cast<std::size_t>(length), std::size_t{info.element_size},
                             &element_bytes) ||
      element_bytes > kMaximumObject) {
    return nullptr;
  }
  const std::size_t bytes = round_up(info.size + element_bytes, kGranule);
  Object* object = nullptr;
  if (std::byte* memory = bytes <= kMediumThreshold ? area_.take(bytes) : nullptr) {
    object = initialize_object(memory, type, bytes);
  } else {
    const std::size_t card_bytes = info.shape == Shape::kRefArray ? element_bytes : 0;
    object = allocate_sized(type, bytes, card_bytes, Contents::kZeroed);
  }
  auto* array = reinterpret_cast<Array*>(object);
  if (array == nullptr) return nullptr;
  array->data = reinterpret_cast<std::byte*>(array) + info.size;
  array->readable = array->writable = array->length = length;
  return array;
}

Array* Heap::allocate_array_handle(TypeId type, const TypeInfo& info, std::int64_t length) {
  auto* array = reinterpret_cast<Array*>(allocate(type, info));
  if (array != nullptr) array->length = length;
  return array;
}

Weak* Heap::allocate_weak(TypeId type, Ref target) {
  protected_ = target;
  auto* weak = reinterpret_cast<Weak*>(allocate(type, types_[type]));
  protected_ = nullptr;
  if (weak == nullptr) return nullptr;
  weak->target = target;
  if (target != nullptr) weaks_.add(weak);
  return weak;
}

Resource* Heap::allocate_resource(TypeId type, void* pointer, Cleaner cleaner, void* context) {
  auto* resource = reinterpret_cast<Resource*>(allocate(type, types_[type]));
  if (resource == nullptr) return nullptr;
  resource->pointer = pointer;
  add_cleaner(&reinterpret_cast<Object&>(*resource), cleaner, context);
  return resource;
}

String* Heap::allocate_immortal_string(TypeId type, std::string_view text) {
  if (text.size() > UINT32_MAX) return nullptr;
  std::byte* memory = immortal_.allocate(round_up(sizeof(String) + text.size(), kGranule));
  if (memory == nullptr) return nullptr;
  auto* string = reinterpret_cast<String*>(memory);
  string->header = Header{type, static_cast<std::uint32_t>(kImmortal) << Header::kFlagShift};
  string->size = static_cast<std::uint32_t>(text.size());
  std::memcpy(string->bytes(), text.data(), text.size());
  return string;
}

// ---- Outside memory

void Heap::add_cleaner(Object* object, Cleaner cleaner, void* context) {
  object->header.set(kHasCleaner);
  cleaners_.add(object, cleaner, context);
}

void Heap::add_external(std::size_t bytes) {
  external_.add(bytes);
  external_added_ += bytes;
  const std::optional<CollectionKind> due = external_.due(ExternalPressure::Clock::now());
  if (!due) return;
  requested_ = due;
  demand_attention();
}

// ---- Figures

HeapStats Heap::stats() const {
  HeapStats stats = stats_;
  stats.bytes_allocated = allocated_bytes();
  stats.live_bytes = live_bytes();
  stats.block_bytes = blocks_.used_bytes();
  stats.peak_block_bytes = blocks_.peak_used_bytes();
  stats.large_bytes = large_.bytes();
  stats.immortal_bytes = immortal_.bytes();
  stats.external_bytes = external_.live();
  stats.nursery_bytes = nursery_.bytes();
  return stats;
}

}  // namespace dhpvm::gc
