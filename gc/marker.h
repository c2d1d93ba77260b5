// SPDX-License-Identifier: Apache-2.0
// Marks everything reachable from the given references.
//
// The same code serves minor and full collections: marks are sticky, so in a minor collection old objects are
// already marked and tracing stops at them. One thread begins; where there is much to mark, the threads of a pool
// join in and share what waits on their stacks.
//
// A minor collection may be marked in parts, between which the program runs: what a marked object refers to is marked
// or waits here, or the write barrier has put the object into the remembered set since.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "base/thread_pool.h"
#include "gc/block_space.h"
#include "gc/large_space.h"
#include "gc/mark_worker.h"
#include "gc/object.h"
#include "gc/roots.h"

namespace dhpvm::gc {

// The elements [first, last) that share bytes with `card` of a large array.
struct ElementRange {
  std::size_t first;
  std::size_t last;
};
ElementRange elements_of_card(const Array& array, const TypeInfo& type, std::size_t card);

class Marker final : public RootVisitor {
 public:
  using Clock = std::chrono::steady_clock;
  // A part ends after `time`. The clock is read after every `objects` objects.
  struct Limit {
    Clock::duration time = Clock::duration::max();
    std::size_t objects = 1024;
  };

  // `pool` may be null, and otherwise outlives the marker.
  Marker(BlockSpace& blocks, LargeSpace& large, std::span<const TypeInfo> types, ThreadPool* pool);
  // Call it before anything else. False if the system refuses the smallest stack.
  bool reserve_stack(std::size_t bytes, ReservationPool* pool) {
    return workers_.front()->reserve_stack(bytes, pool);
  }

  void visit_range(const Ref* slots, std::size_t count) override;

  // Marks what `objects` refer to; `objects` are marked already.
  void scan(std::span<Object* const> objects);
  // Pushes the elements under a card of a large array.
  void scan_card(LargeNode* node, std::size_t card);

  // Marks until everything reachable from what was given is marked, or the marker is late. True if nothing is left.
  bool finish();

  // From now on marking stops when it is late; without a limit it never is.
  void set_limit(Limit limit);
  bool is_late() { return is_limited() && look_at_clock(); }
  // Forgets everything that waits, and the count of marked granules.
  void abandon();
  // Calls visit(object, is_array) for everything that waits: objects to be marked, and arrays with elements to be
  // marked.
  template <typename Visit>
  void for_each_waiting(Visit&& visit) const {
    workers_.front()->for_each_waiting(visit);
  }
  // Whether the stack has overflowed, so that some objects that waited are not known any more: only finish() finds
  // them.
  bool has_overflowed() const;
  // Granules in blocks that were marked since take_marked().
  std::size_t marked() const;
  // The granules in blocks that were marked since the last call; a few may count twice.
  std::size_t take_marked();

  bool is_marked(const Object* object) const;
  void trim_stacks() const;

 private:
  MarkWorker& first() { return *workers_.front(); }
  void drain();
  void drain_together();
  void add_workers();
  void work(std::size_t index);
  void share(MarkWorker& worker);
  bool is_over(std::size_t index);
  bool find_work(std::size_t index);
  bool any_overflowed();
  void rescan();
  void rescan_object(Object* object);
  void adopt_leftovers();
  bool is_limited() const { return limit_.time != Clock::duration::max(); }
  bool look_at_clock();

  BlockSpace& blocks_;
  LargeSpace& large_;
  const std::span<const TypeInfo> types_;
  ThreadPool* const pool_;
  std::vector<Trace> traces_;
  std::vector<std::unique_ptr<MarkWorker>> workers_;  // the first belongs to the thread that collects
  Limit limit_;
  Clock::duration spent_{};  // the time that this part has taken
  Clock::time_point last_look_;
  Clock::time_point part_begin_;
  std::chrono::nanoseconds processor_begin_{};  // this thread's processor time when the part began
  unsigned parts_alone_ = 0;                    // so many parts are to be marked without helpers

  // While workers mark together: packets of work that one has given away for another to take.
  std::mutex mutex_;
  std::vector<std::vector<Object*>> packets_;
  std::atomic<std::size_t> packet_count_{0};  // of packets_
  std::atomic<unsigned> busy_{0};             // workers that have work, and so may give some away
  std::atomic<unsigned> hungry_{0};           // workers that wait for some
  std::atomic<bool> is_over_{false};          // some worker has seen that it is late
};

}  // namespace dhpvm::gc
