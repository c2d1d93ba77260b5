// SPDX-License-Identifier: Apache-2.0
#include "gc/marker.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "base/thread.h"

namespace dhpvm::gc {
namespace {

// The steps that one thread takes in about a fifth of a millisecond: waking others is not worth it for less.
constexpr std::size_t kStepsAlone = 16 * 1024;
// A worker looks this often whether another has nothing to do.
constexpr std::size_t kStepsBetweenGifts = 128;
// The mark stack of a worker that joins in. Deeper structures overflow, which costs only time.
constexpr std::size_t kHelperStack = std::size_t{64} << 20;
// The number of times a worker without work asks for some before it yields its core.
constexpr int kPatience = 64;
// After helpers came late, so many parts are marked alone: fewer than one part in a hundred is spent on trying again.
constexpr unsigned kPartsAlone = 512;
// Longer gaps between two looks at the clock are caused by other programs, on this machine or on its host.
constexpr std::chrono::microseconds kMostBetweenLooks{100};

}  // namespace

ElementRange elements_of_card(const Array& array, const TypeInfo& type, std::size_t card) {
  // The program may have closed the array since it wrote to it.
  const auto length = array.data == nullptr ? std::size_t{0} : static_cast<std::size_t>(array.length);
  const std::size_t first = card * kCardSize / type.element_size;
  const std::size_t last = ((card + 1) * kCardSize + type.element_size - 1) / type.element_size;
  return {std::min(first, length), std::min(last, length)};
}

Marker::Marker(BlockSpace& blocks, LargeSpace& large, std::span<const TypeInfo> types, ThreadPool* pool)
    : blocks_(blocks), large_(large), types_(types), pool_(pool) {
  traces_.reserve(types.size());
  for (const TypeInfo& type : types) {
    Trace trace{0, Trace::Kind::kLeaf};
    if (type.shape == Shape::kInstance && type.references != 0)
      trace = {type.references, Trace::Kind::kReferences};
    if (type.shape == Shape::kRefArray && type.element_reference_count != 0)
      trace.kind = Trace::Kind::kElements;
    traces_.push_back(trace);
  }
  workers_.push_back(std::make_unique<MarkWorker>(blocks_, types_, traces_));
}

bool Marker::is_marked(const Object* object) const {
  if (blocks_.contains(object)) return *blocks_.mark_of(object) != 0;
  if (object->header.has(kImmortal)) return true;
  return LargeNode::of(const_cast<Object*>(object))->marked;
}

std::size_t Marker::take_marked() {
  std::size_t marked = 0;
  for (const auto& worker : workers_) marked += worker->take_marked();
  return marked;
}

std::size_t Marker::marked() const {
  std::size_t marked = 0;
  for (const auto& worker : workers_) marked += worker->marked();
  return marked;
}

void Marker::set_limit(Limit limit) {
  limit_ = limit;
  spent_ = {};
  last_look_ = part_begin_ = Clock::now();
  if (!is_limited()) return;
  processor_begin_ = processor_time_of_thread();
  if (parts_alone_ != 0) --parts_alone_;
}

// The time in which another program has the processor does not count as spent on marking.
bool Marker::look_at_clock() {
  const Clock::duration elapsed = Clock::now() - last_look_;
  last_look_ += elapsed;
  spent_ = elapsed > kMostBetweenLooks ? processor_time_of_thread() - processor_begin_ : spent_ + elapsed;
  return spent_ >= limit_.time;
}

void Marker::abandon() {
  for (const auto& worker : workers_) worker->abandon();
}

void Marker::trim_stacks() const {
  for (const auto& worker : workers_) worker->trim();
}

// ---- Together

// Marks until nothing is left, or the marker is late.
void Marker::drain() {
  for (std::size_t steps = 0;; steps += limit_.objects) {
    if (first().drain(limit_.objects) || is_late()) return;
    if (pool_ == nullptr || steps < kStepsAlone || (parts_alone_ != 0 && is_limited())) continue;
    add_workers();
    if (workers_.size() != 1) return drain_together();
  }
}

// Adds one for each thread of the pool, or as many as the system has address space for.
void Marker::add_workers() {
  while (workers_.size() < pool_->size()) {
    auto worker = std::make_unique<MarkWorker>(blocks_, types_, traces_);
    if (!worker->reserve_stack(kHelperStack, nullptr)) return;
    workers_.push_back(std::move(worker));
  }
}

// The first worker counts as busy before it begins: helpers that start earlier wait for what it gives. A helper that
// comes when all is done finds nothing, so that it does not matter how many threads take part.
void Marker::drain_together() {
  busy_.store(1, std::memory_order_relaxed);
  is_over_.store(false, std::memory_order_relaxed);
  pool_->parallel_for_chunks(static_cast<std::uint32_t>(workers_.size()), [this](std::uint32_t index) {
    if (index == 0) {
      work(0);
    } else {
      hungry_.fetch_add(1, std::memory_order_relaxed);
      if (find_work(index)) work(index);
    }
  });
  if (is_over_.load(std::memory_order_relaxed)) adopt_leftovers();
  // The helpers did not run: other programs have the processors, and this thread has waited for a helper.
  if (is_limited() && Clock::now() - part_begin_ > 2 * limit_.time) parts_alone_ = kPartsAlone;
}

// Only the first worker reads the clock; the others see its result.
bool Marker::is_over(std::size_t index) {
  if (index == 0 && is_late()) is_over_.store(true, std::memory_order_relaxed);
  return is_over_.load(std::memory_order_relaxed);
}

// In the next part other threads may join in, or none.
void Marker::adopt_leftovers() {
  for (std::size_t i = 1; i < workers_.size(); ++i) first().adopt(*workers_[i]);
  for (const std::vector<Object*>& packet : std::exchange(packets_, {})) {
    for (Object* const object : packet) first().push(object);
  }
  packet_count_.store(0, std::memory_order_relaxed);
}

// Marks as a busy worker until nothing is left for any worker, or the marker is late.
void Marker::work(std::size_t index) {
  MarkWorker& worker = *workers_[index];
  do {
    while (!worker.drain(kStepsBetweenGifts)) {
      if (hungry_.load(std::memory_order_relaxed) > packet_count_.load(std::memory_order_relaxed))
        share(worker);
      if (is_over(index)) {
        busy_.fetch_sub(1, std::memory_order_release);
        return;
      }
    }
    hungry_.fetch_add(1, std::memory_order_relaxed);
    busy_.fetch_sub(1, std::memory_order_release);
  } while (find_work(index));
}

void Marker::share(MarkWorker& worker) {
  std::vector<Object*> packet;
  worker.give(packet);
  if (packet.empty()) return;
  const std::lock_guard lock(mutex_);
  packets_.push_back(std::move(packet));
  packet_count_.store(packets_.size(), std::memory_order_relaxed);
}

// For a hungry worker: takes a packet and becomes busy, or learns that everything is done or the marker is late. The
// giver of a packet is busy, and stays so until the packet is in the list: no busy workers and no packets means that
// all is done.
bool Marker::find_work(std::size_t index) {
  for (int turn = 0;; ++turn) {
    const bool is_last_look = busy_.load(std::memory_order_acquire) == 0;
    if (is_last_look || packet_count_.load(std::memory_order_relaxed) != 0) {
      std::vector<Object*> packet;
      {
        const std::lock_guard lock(mutex_);
        if (!packets_.empty()) {
          packet = std::move(packets_.back());
          packets_.pop_back();
          packet_count_.store(packets_.size(), std::memory_order_relaxed);
          busy_.fetch_add(1, std::memory_order_relaxed);
        }
      }
      if (!packet.empty() || is_last_look) hungry_.fetch_sub(1, std::memory_order_relaxed);
      for (Object* const object : packet) workers_[index]->push(object);
      if (!packet.empty()) return true;
      if (is_last_look) return false;
    }
    if (turn % kPatience != kPatience - 1) continue;
    if (is_over(index)) {
      hungry_.fetch_sub(1, std::memory_order_relaxed);
      return false;
    }
    std::this_thread::yield();
  }
}

// ---- Roots and objects that the marker is given

void Marker::visit_range(const Ref* slots, std::size_t count) {
  for (std::size_t first_slot = 0; first_slot < count; first_slot += MarkWorker::kSlice) {
    first().push_range(slots + first_slot, std::min(MarkWorker::kSlice, count - first_slot));
    if (!is_late()) drain();
  }
}

// All at once: one object's references alone would not fill the queue that hides cache misses.
void Marker::scan(std::span<Object* const> objects) {
  for (Object* const object : objects) {
    first().trace(object);
    if (first().waiting() >= MarkWorker::kSlice && !is_late()) drain();
  }
  if (!is_late()) drain();
}

void Marker::scan_card(LargeNode* node, std::size_t card) {
  const auto& array = *reinterpret_cast<Array*>(node->object());
  const TypeInfo& type = types_[array.header.type];
  const ElementRange range = elements_of_card(array, type, card);
  visit_elements(array, type, range.first, range.last,
                 [this](const Ref* slots, std::size_t count) { first().push_range(slots, count); });
  if (first().waiting() >= MarkWorker::kSlice && !is_late()) drain();
}

bool Marker::finish() {
  if (!first().is_done()) drain();
  if (!first().is_done()) return false;
  // This is rare, and not worth doing in parts.
  const Limit limit = std::exchange(limit_, {});
  while (any_overflowed()) rescan();
  limit_ = limit;
  return true;
}

bool Marker::has_overflowed() const {
  return std::any_of(workers_.begin(), workers_.end(),
                     [](const auto& worker) { return worker->has_overflowed(); });
}

bool Marker::any_overflowed() {
  bool any = false;
  for (const auto& worker : workers_) any |= worker->take_overflowed();
  return any;
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
      if (slots[i] != nullptr && !is_marked(slots[i])) first().push(slots[i]);
    }
  };
  if (what.kind == Trace::Kind::kReferences)
    push_unmarked(reinterpret_cast<const Ref*>(object + 1), what.references);
  if (what.kind == Trace::Kind::kElements) {
    const auto& array = *reinterpret_cast<Array*>(object);
    const auto length = array.data == nullptr ? std::size_t{0} : static_cast<std::size_t>(array.length);
    visit_elements(array, types_[array.header.type], 0, length, push_unmarked);
  }
  drain();
}

}  // namespace dhpvm::gc
