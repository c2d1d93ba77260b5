// SPDX-License-Identifier: Apache-2.0
// Heap: the phases of a collection.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <utility>

#include "gc/heap.h"
#include "gc/prompt_return.h"
#include "gc/verifier.h"

namespace dhpvm::gc {

namespace {

// The time for which one part of a minor collection marks.
constexpr std::chrono::microseconds kPart{1000};
// Between two parts the program may allocate a quarter of the bytes that the first part has marked, so that the work
// left shrinks even if all new objects survive.
constexpr std::size_t kAllowance = 4;
constexpr std::size_t kLeastAllowance = kBlockSize;
// The roots are scanned when nothing else is left, and again after each part that had no time for what they refer to.
// Each scan finds only what the program has allocated since the one before, which is not much by the third.
constexpr unsigned kMostRootScans = 3;

void verify_or_die(const Heap& heap, CollectionKind kind, bool after) {
  Verifier verifier(heap);
  const Status status = after ? verifier.check_after(kind) : verifier.check();
  if (status.ok()) return;
  fmt::print(stderr, "dhpvm: heap verification failed {} a {} collection: {}\n", after ? "after" : "before",
             to_string(kind), status.error().message());
  std::abort();
}

}  // namespace

// ---- Minor collections in parts

void Heap::collect_part(CollectionReason reason) {
  const auto begin = Marker::Clock::now();
  if (options_.verify) verify_or_die(*this, CollectionKind::kMinor, false);
  const std::size_t marked_before = marker_.marked();
  // A program that writes to more old objects than the parts have time for gets one long pause in the end.
  if (!std::exchange(is_marking_, true)) young_before_ = young_bytes();
  const bool is_overdue = young_bytes() - young_before_ > nursery_.bytes();
  if (reason == CollectionReason::kStress) {
    marker_.set_limit({.time = {}, .objects = std::size_t{1} << stress_collections_ % 7});
  } else if (!is_overdue && root_scans_ + 1 < kMostRootScans) {
    marker_.set_limit({.time = kPart});
  }
  bool is_done = mark_young();
  marker_.set_limit({});
  if (!is_done && marker_.has_overflowed()) is_done = mark_young();
  if (is_done) return finish_collection(CollectionKind::kMinor, reason, begin);
  const std::size_t marked = (marker_.marked() - marked_before) * kGranule;
  const std::size_t due = young_bytes() + std::max(marked / kAllowance, kLeastAllowance);
  allowance_ = due - std::min(due, nursery_.bytes());
  note_pause(CollectionKind::kMinor, reason, live_bytes(), begin);
}

// Marks from the remembered set and the roots until the marker is late. True if nothing is left.
bool Heap::mark_young() {
  if (!remembered_.scan(marker_) || !marker_.finish()) return false;
  ++root_scans_;
  visit_all_roots(marker_);
  return marker_.finish();
}

// ---- Whole collections

void Heap::collect(CollectionKind kind, CollectionReason reason) {
  const auto begin = Marker::Clock::now();
  const bool full = kind == CollectionKind::kFull;
  if (full) roots_.drop_dead_roots();
  if (options_.verify) verify_or_die(*this, kind, false);
  if (full) {
    mark_all();
  } else {
    mark_young();
  }
  finish_collection(kind, reason, begin);
}

// One in eight is full. The others are whole minor collections, which show an error soonest; in every second 64 turns
// most of them are parts of a few objects.
void Heap::collect_under_stress() {
  const std::uint32_t turn = ++stress_collections_;
  if (turn % 8 == 0) return collect(CollectionKind::kFull, CollectionReason::kStress);
  if (turn / 64 % 2 == 0 || turn % 16 == 4) return collect(CollectionKind::kMinor, CollectionReason::kStress);
  collect_part(CollectionReason::kStress);
}

// After marking.
void Heap::finish_collection(CollectionKind kind, CollectionReason reason, Marker::Clock::time_point begin) {
  const bool full = kind == CollectionKind::kFull;
  const std::size_t live_before = live_bytes();
  const std::size_t external_before = external_.live();
  const std::size_t occupied_before = live_before + external_before;
  const std::size_t large_before = large_.bytes() - large_allocated_;
  const std::size_t allocated = young_bytes();
  stats_.bytes_allocated += large_allocated_;
  large_allocated_ = 0;
  bump_.retire(area_);
  is_marking_ = false;
  allowance_ = 0;
  root_scans_ = 0;
  const std::size_t marked = marker_.take_marked();
  const std::size_t limit = options_.limit_bytes;
  blocks_.sweep_thoroughly(limit != 0 && footprint() > limit - limit / 4);
  // Cleaners and weak references come between marking and sweeping: they look at dead objects
  // that are intact.
  if (full) {
    weaks_.clear_dead_all(marker_);
    stats_.cleaners_run += cleaners_.run_dead_all(marker_);
    std::optional<PromptReturn> prompt;
    if (reason == CollectionReason::kIdle) prompt.emplace();
    large_.sweep_all(options_.verify);
    blocks_.finish_full(options_.thread_pool);
    marker_.trim_stacks();
  } else {
    weaks_.clear_dead_young(marker_);
    stats_.cleaners_run += cleaners_.run_dead_young(marker_);
    large_.sweep_young(options_.verify);
    blocks_.finish_minor(marked);
  }
  requested_.reset();
  release_scarce_memory(kind, occupied_before, external_before);
  const std::size_t large_survived = large_.bytes() - std::min(large_.bytes(), large_before);
  adapt(kind, reason, live_before, allocated, marked * kGranule + large_survived, begin);
  if (options_.verify) verify_or_die(*this, kind, true);
  const auto end = Marker::Clock::now();
  external_.collected(kind, reason, external_before, begin, end);
  idle_watch_.collected(kind, reason, occupied_before, live_bytes() + external_.live(), begin, end);
  (full ? stats_.full_collections : stats_.minor_collections) += 1;
  note_pause(kind, reason, live_before, begin);
}

void Heap::note_pause(CollectionKind kind, CollectionReason reason, std::size_t live_before,
                      Marker::Clock::time_point begin) {
  const auto end = Marker::Clock::now();
  const auto pause = static_cast<std::uint64_t>(std::chrono::nanoseconds(end - begin).count());
  (kind == CollectionKind::kFull ? stats_.full_pauses : stats_.minor_pauses).add(pause);
  if (options_.tracer == nullptr) return;
  options_.tracer->slice(trace_track_,
                         fmt::format("{}{} collection ({})", is_marking_ ? "part of a " : "", to_string(kind),
                                     to_string(reason)),
                         begin, end,
                         {{"live bytes before", static_cast<std::int64_t>(live_before)},
                          {"live bytes", static_cast<std::int64_t>(live_bytes())},
                          {"footprint", static_cast<std::int64_t>(footprint())},
                          {"external bytes", static_cast<std::int64_t>(external_.live())}});
  options_.tracer->counter("heap footprint", static_cast<std::int64_t>(footprint()));
}

// Where memory is scarce, little is kept for later.
void Heap::release_scarce_memory(CollectionKind kind, std::size_t occupied_before,
                                 std::size_t external_before) {
  const std::size_t memory = options_.memory_bytes;
  if (memory == 0 || occupied_before <= memory / 2) return;
  const bool much_outside = external_before - std::min(external_before, external_.live()) > memory / 16;
  if (kind == CollectionKind::kFull || much_outside) release_memory();
}

void Heap::mark_all() {
  // A minor collection that has begun is abandoned: its marks are cleared with all others.
  marker_.abandon();
  blocks_.clear_marks(options_.thread_pool);
  large_.clear_marks();
  remembered_.drop();
  visit_all_roots(marker_);
  marker_.finish();
}

void Heap::visit_all_roots(RootVisitor& visitor) const {
  roots_.visit_roots(visitor);
  visitor.visit(protected_);
  for (const RootBase* handle = handles_.next_; handle != &handles_; handle = handle->next_)
    visitor.visit(handle->ref_);
}

// Chooses the next nursery and, after a full collection, when the next one is due.
void Heap::adapt(CollectionKind kind, CollectionReason reason, std::size_t live_before, std::size_t allocated,
                 std::size_t survived, Growth::Clock::time_point begin) {
  if (kind == CollectionKind::kMinor) {
    // Where next to nothing survives, a collection takes the time for the roots. A nanosecond counts like a byte that
    // survives, which takes about as long: a deep stack is not scanned for each small nursery.
    const auto pause = std::chrono::nanoseconds(Growth::Clock::now() - begin).count();
    const bool is_little = survived < allocated / 128;
    const std::size_t cost = is_little ? std::max(survived, static_cast<std::size_t>(pause)) : survived;
    return nursery_.minor_collected(allocated, cost, limits_.nursery_room());
  }
  nursery_.full_collected(limits_.grown(live_before), live_before - std::min(live_before, live_bytes()));
  // Collections for other reasons do not tell when the next one pays.
  if (reason == CollectionReason::kGrowth || reason == CollectionReason::kLimit)
    limits_.collected(live_before, begin, Growth::Clock::now());
  limits_.set(size());
}

Status Heap::check() const { return Verifier(*this).check(); }

}  // namespace dhpvm::gc
