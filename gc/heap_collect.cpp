// SPDX-License-Identifier: Apache-2.0
// Heap: the phases of a collection.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "gc/heap.h"
#include "gc/prompt_return.h"
#include "gc/verifier.h"

namespace dhpvm::gc {

void Heap::collect(CollectionKind kind, CollectionReason reason) {
  const auto begin = Tracer::Clock::now();
  const bool full = kind == CollectionKind::kFull;
  const std::size_t live_before = live_bytes();
  const std::size_t external_before = external_.live();
  const std::size_t occupied_before = live_before + external_before;
  const std::size_t large_before = large_.bytes() - large_allocated_;
  stats_.bytes_allocated += large_allocated_;
  large_allocated_ = 0;
  bump_.retire(area_);
  if (full) roots_.drop_dead_roots();
  if (options_.verify) verify_or_die(kind, false);

  mark(kind);
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
  adapt(kind, reason, live_before, marked * kGranule + large_survived, begin);
  if (options_.verify) verify_or_die(kind, true);

  const auto end = Tracer::Clock::now();
  external_.collected(kind, reason, external_before, begin, end);
  idle_watch_.collected(kind, reason, occupied_before, live_bytes() + external_.live(), begin, end);
  const auto pause = static_cast<std::uint64_t>(std::chrono::nanoseconds(end - begin).count());
  (full ? stats_.full_collections : stats_.minor_collections) += 1;
  (full ? stats_.full_pauses : stats_.minor_pauses).add(pause);
  if (options_.tracer != nullptr) {
    options_.tracer->slice(trace_track_,
                           fmt::format("{} collection ({})", to_string(kind), to_string(reason)), begin, end,
                           {{"live bytes before", static_cast<std::int64_t>(live_before)},
                            {"live bytes", static_cast<std::int64_t>(live_bytes())},
                            {"footprint", static_cast<std::int64_t>(footprint())},
                            {"external bytes", static_cast<std::int64_t>(external_.live())}});
    options_.tracer->counter("heap footprint", static_cast<std::int64_t>(footprint()));
  }
}

// Where memory is scarce, not much is kept for later.
void Heap::release_scarce_memory(CollectionKind kind, std::size_t occupied_before,
                                 std::size_t external_before) {
  const std::size_t memory = options_.memory_bytes;
  if (memory == 0 || occupied_before <= memory / 2) return;
  const bool much_outside = external_before - std::min(external_before, external_.live()) > memory / 16;
  if (kind == CollectionKind::kFull || much_outside) release_memory();
}

void Heap::mark(CollectionKind kind) {
  if (kind == CollectionKind::kFull) {
    blocks_.clear_marks(options_.thread_pool);
    large_.clear_marks();
  }
  take_logged(kind);
  visit_all_roots(marker_);
  marker_.finish();
}

void Heap::visit_all_roots(RootVisitor& visitor) const {
  roots_.visit_roots(visitor);
  visitor.visit(protected_);
  for (const RootBase* handle = handles_.next_; handle != &handles_; handle = handle->next_)
    visitor.visit(handle->ref_);
}

// Empties the remembered set. In a full collection its objects are traced if and when they are reached; that
// they become unlogged even if they are dead does no harm.
void Heap::take_logged(CollectionKind kind) {
  // They lie all over the heap, so their headers are fetched ahead.
  constexpr std::size_t kPrefetchDistance = 16;
  const bool minor = kind == CollectionKind::kMinor;
  std::size_t small = 0;
  for (std::size_t i = 0; i < logged_.size(); ++i) {
    if (i + kPrefetchDistance < logged_.size()) __builtin_prefetch(logged_[i + kPrefetchDistance], 1);
    Object* const object = logged_[i];
    LargeNode* node = object->header.has(kLarge) ? LargeNode::of(object) : nullptr;
    if (node != nullptr && node->logged) {
      node->logged = false;
      if (minor) {
        marker_.scan_dirty_cards(node);
      } else {
        std::fill_n(node->cards, node->card_count, std::uint8_t{0});
      }
      continue;
    }
    object->header.set(kUnlogged);
    logged_[small++] = object;
  }
  if (minor) marker_.scan({logged_.data(), small});
  logged_.clear();
}

// Chooses the next nursery and, after a full collection, when the next one is due.
void Heap::adapt(CollectionKind kind, CollectionReason reason, std::size_t live_before, std::size_t survived,
                 Growth::Clock::time_point begin) {
  if (kind == CollectionKind::kMinor) return nursery_.minor_collected(survived, live_after_full_);
  const std::size_t grown = live_before - std::min(live_before, live_after_full_);
  nursery_.full_collected(grown, live_before - std::min(live_before, live_bytes()));
  // Others say nothing about when the next one pays.
  if (reason == CollectionReason::kGrowth || reason == CollectionReason::kLimit)
    growth_.collected(grown, begin, Growth::Clock::now());
  set_thresholds();
}

void Heap::verify_or_die(CollectionKind kind, bool after) const {
  Verifier verifier(*this);
  const Status status = after ? verifier.check_after(kind) : verifier.check();
  if (status.ok()) return;
  fmt::print(stderr, "dhpvm: heap verification failed {} a {} collection: {}\n", after ? "after" : "before",
             to_string(kind), status.error().message());
  std::abort();
}

Status Heap::check() const { return Verifier(*this).check(); }

}  // namespace dhpvm::gc
