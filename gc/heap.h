// SPDX-License-Identifier: Apache-2.0
// The garbage-collected heap of one isolate: allocation, write barrier, collection.
//
// Non-moving and generational: objects that survived a collection are old, and a minor collection looks only
// at objects allocated since the last one. Start here; gc/README.md describes the rest.
//
// A heap is used by one thread at a time. Collections happen inside allocation functions and collect(),
// nowhere else, so between two of those calls raw Object* may live in local variables.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/trace.h"
#include "dhpvm/result.h"
#include "gc/block_space.h"
#include "gc/bump_allocator.h"
#include "gc/death_watch.h"
#include "gc/external_pressure.h"
#include "gc/heap_limits.h"
#include "gc/idle_watch.h"
#include "gc/immortal_space.h"
#include "gc/large_space.h"
#include "gc/layout.h"
#include "gc/marker.h"
#include "gc/nursery.h"
#include "gc/object.h"
#include "gc/options.h"
#include "gc/remembered_set.h"
#include "gc/roots.h"

namespace dhpvm::gc {

// Writes the header of a new object of `size` bytes, a multiple of kGranule, and nothing else.
inline Object* initialize_object(std::byte* memory, TypeId type, std::size_t size) {
  // One store for the whole header.
  const auto header = Header{type, static_cast<std::uint32_t>(size / kGranule)};
  *reinterpret_cast<std::uint64_t*>(memory) = std::bit_cast<std::uint64_t>(header);
  return reinterpret_cast<Object*>(memory);
}

class Heap {
 public:
  // `types` describes every type id that will be used; the table and `roots` must outlive the heap, and the
  // table must not change. kOutOfMemory when the system grants no address space.
  static Result<std::unique_ptr<Heap>> create(const HeapOptions& options, std::span<const TypeInfo> types,
                                              RootProvider& roots);
  // Runs all cleaners. Root handles that are left become null.
  ~Heap();
  Heap(const Heap&) = delete;
  Heap& operator=(const Heap&) = delete;

  // ---- Allocation. Each may collect first, so every object that is to survive must be reachable from
  // ---- the roots. Memory is zero apart from what is said below. Null means: the limit is reached, even
  // ---- after a full collection; census() says by what.

  // An instance of `type`, whose description is `info` (kInstance or any other shape of fixed size).
  Object* allocate(TypeId type, const TypeInfo& info) {
    const std::size_t size = round_up(info.size, kGranule);
    if (std::byte* memory = area_.take(size)) [[likely]]
      return initialize_object(memory, type, size);
    return allocate_slow(type, size);
  }

  // A string of `size` bytes. Its bytes are undefined: the caller fills them before anybody sees them.
  String* allocate_string(TypeId type, std::size_t size) {
    if (String* string = allocate_short_string(type, size)) [[likely]]
      return string;
    return allocate_string_slow(type, size);
  }
  // The same if there is room in open memory; never collects. Null means only that there is none.
  String* allocate_short_string(TypeId type, std::size_t size) {
    if (size > kMediumThreshold - sizeof(String)) return nullptr;
    const std::size_t bytes = round_up(sizeof(String) + size, kGranule);
    std::byte* memory = area_.take(bytes);
    if (memory == nullptr) memory = take_from_next_hole(bytes);
    if (memory == nullptr) return nullptr;
    auto* const string = reinterpret_cast<String*>(initialize_object(memory, type, bytes));
    string->size = static_cast<std::uint32_t>(size);  // its hash is zero, as new memory is
    return string;
  }

  // An array with `length` (not negative) elements behind its handle; `info.size` is the size of the handle,
  // 48 or 80. All elements are accessible. The caller fills in the dimensions of a MultiArray.
  Array* allocate_array(TypeId type, const TypeInfo& info, std::int64_t length);

  // An array's handle without elements: `length` is set; `data` and `buffer` are null, and no element is accessible
  // until the caller attaches a buffer. Only for arrays of primitives.
  Array* allocate_array_handle(TypeId type, const TypeInfo& info, std::int64_t length);

  // A weak reference to `target`, which is kept alive during this call. The target may be set to null later,
  // but to nothing else.
  Weak* allocate_weak(TypeId type, Ref target);

  // A resource that owns `pointer`, released by `cleaner` after the object's death. When this returns null
  // the cleaner has not run.
  Resource* allocate_resource(TypeId type, void* pointer, Cleaner cleaner, void* context);

  // A string that lives as long as the heap. Null only when the system is out of memory.
  String* allocate_immortal_string(TypeId type, std::string_view text);

  // ---- The write barrier: call it after or before storing a reference into an object that is not known to be ----
  // new, but with no allocation in between.

  // For a field of `holder`. For arrays too, if the element is not known.
  void write_barrier(Object* holder) {
    if (holder->header.has(kUnlogged)) [[unlikely]]
      remembered_.log(holder);
  }
  // For element `index` of an array.
  void write_barrier(Array* holder, std::int64_t index) { write_barrier(holder, index, 1); }
  // For `count` elements from `first` on.
  void write_barrier(Array* holder, std::int64_t first, std::int64_t count) {
    if (holder->header.has(kUnlogged)) [[unlikely]]
      remembered_.log_elements(holder, first, count);
  }

  // ---- Memory outside the heap that dies with objects inside it.

  // Runs `cleaner` once, after the death of `object` or at the end of the heap.
  void add_cleaner(Object* object, Cleaner cleaner, void* context);

  // Adds to the bytes outside the heap that objects keep alive; their amount drives collections. Does not collect: the
  // next allocation may.
  void add_external(std::size_t bytes);
  void remove_external(std::size_t bytes) { external_.remove(bytes); }

  // ---- Collection.

  void collect(CollectionKind kind, CollectionReason reason = CollectionReason::kRequested);
  // For a thread that waits, to be called now and then: collects and gives memory back if the program has allocated
  // little for a while and that is worth it. May collect, so only objects reachable from roots survive.
  void rest(IdleWatch::Wait wait);
  // The same for a program that runs; a collection is left to the next allocation.
  void look_for_idleness();
  // Gives all memory without objects back to the system.
  void release_memory();
  // Whether `bytes` more, inside or outside the heap, fit into HeapOptions::memory_bytes.
  bool fits_memory(std::size_t bytes) const;
  // Why the last allocation that failed did so.
  Shortfall shortfall() const { return shortfall_; }
  HeapStats stats() const;
  // The number of collections so far.
  std::uint64_t collections() const { return stats_.minor_collections + stats_.full_collections; }

  // The types that occupy most, with object counts and bytes, as a few lines of text for an out-of-memory
  // error. Counts what survived the last collection, so it is exact right after an allocation has failed.
  std::string census(std::size_t top = 8) const;

  // Checks the heap as HeapOptions::verify does around each collection; kInternal with the first fault. May be called
  // at any time between allocations.
  Status check() const;

  // ---- For the interpreter and the native code generator.

  // The bounds of the current hole. Inlined allocation: if `size` (a multiple of kGranule) fits
  // between cursor and limit, advance the cursor and write the header; otherwise call allocate_slow.
  // The memory is zero.
  AllocationArea* allocation_area() { return &area_; }
  // `size` is a multiple of kGranule.
  Object* allocate_slow(TypeId type, std::size_t size);

  RootBase& handles() { return handles_; }
  std::span<const TypeInfo> types() const { return types_; }

 private:
  friend class Verifier;
  enum class Contents : std::uint8_t { kZeroed, kUndefined };
  // Why an attempt to allocate has failed: the nursery is used up, the heap would have to grow too much, or the system
  // refuses memory.
  enum class Shortage : std::uint8_t { kNursery, kGrowth, kSystem };

  Heap(const HeapOptions& options, std::span<const TypeInfo> types, RootProvider& roots);

  String* allocate_string_slow(TypeId type, std::size_t size);
  Object* allocate_sized(TypeId type, std::size_t size, std::size_t card_bytes, Contents contents);
  Object* allocate_large(TypeId type, std::size_t size, std::size_t card_bytes, Contents contents);
  template <typename Take>
  Object* allocate_or_collect(std::size_t size, Take&& take);
  std::byte* take_small(std::size_t size, Shortage& shortage);
  // For a small object that does not fit into the current hole. Null if no other hole is open.
  std::byte* take_from_next_hole(std::size_t size) {
    return attention_ ? nullptr : bump_.take_open(area_, size);
  }
  void safepoint();
  // Sends the next allocation, inlined or not, to safepoint().
  void demand_attention() {
    attention_ = true;
    area_.limit = area_.cursor;
  }

  void release_scarce_memory(CollectionKind kind, std::size_t occupied_before, std::size_t external_before);
  // One pause of a minor collection that is done in parts. The last part ends the collection.
  void collect_part(CollectionReason reason);
  void collect_under_stress();
  void finish_collection(CollectionKind kind, CollectionReason reason, Marker::Clock::time_point begin);
  void note_pause(CollectionKind kind, CollectionReason reason, std::size_t live_before,
                  Marker::Clock::time_point begin);
  void mark_all();
  bool mark_young();
  // Bytes that were allocated since the last collection.
  std::size_t young_bytes() const { return bump_.consumed_bytes() + large_allocated_; }
  void adapt(CollectionKind kind, CollectionReason reason, std::size_t live_before, std::size_t allocated,
             std::size_t survived, Growth::Clock::time_point begin);
  bool nursery_used_up() const { return young_bytes() >= nursery_.bytes() + allowance_; }
  void relieve();
  bool is_idle(IdleWatch::Wait wait);
  std::uint64_t allocated_bytes() const {
    return stats_.bytes_allocated + bump_.allocated_bytes(area_) + large_allocated_;
  }
  Object* give_up(Shortage shortage, std::size_t size);
  void visit_all_roots(RootVisitor& visitor) const;
  // Memory from the system that holds objects.
  std::size_t footprint() const { return blocks_.used_bytes() + large_.bytes(); }
  std::size_t live_bytes() const { return blocks_.live_bytes() + large_.bytes(); }
  HeapSize size() const { return {live_bytes(), footprint(), nursery_.bytes()}; }

  AllocationArea area_;  // first, at a fixed place for compiled code

  const HeapOptions options_;
  const std::span<const TypeInfo> types_;
  RootProvider& roots_;

  BlockSpace blocks_;
  BumpAllocator bump_{blocks_};
  LargeSpace large_;
  ImmortalSpace immortal_;
  Marker marker_;
  CleanerList cleaners_;
  WeakList weaks_;
  ExternalPressure external_;
  std::uint64_t external_added_ = 0;  // since creation
  IdleWatch idle_watch_;
  RootBase handles_;
  Ref protected_ = nullptr;  // a root for the duration of an allocation

  RememberedSet remembered_{types_};

  // a minor collection has marked a part and has not ended
  bool is_marking_ = false;
  std::size_t allowance_ = 0;     // bytes to be allocated, beyond the nursery, before the next part
  std::size_t young_before_ = 0;  // young_bytes() when it began
  unsigned root_scans_ = 0;       // of this collection
  Nursery nursery_;
  HeapLimits limits_{options_};
  std::size_t large_allocated_ = 0;  // bytes of large objects since the last collection
  bool attention_ = false;           // allocations must come to safepoint()
  std::optional<CollectionKind> requested_;
  CollectionReason requested_reason_ = CollectionReason::kExternal;
  Shortfall shortfall_ = Shortfall::kLimit;
  std::uint32_t stress_countdown_ = 0;
  std::uint32_t stress_collections_ = 0;

  std::uint32_t trace_track_ = 0;
  HeapStats stats_;
};

}  // namespace dhpvm::gc
