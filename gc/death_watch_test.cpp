// SPDX-License-Identifier: Apache-2.0
// Weak references, cleaners and external bytes, through the heap's interface.
#include "gc/death_watch.h"

#include <algorithm>

#include "gc/test_types.h"

namespace dhpvm::gc::testing {
namespace {

class WeakReferences : public HeapTest {
 protected:
  Weak* make_weak(void* target) { return heap_->allocate_weak(kWeakRef, ref(target)); }
};

TEST_F(WeakReferences, AreClearedByMinorCollections) {
  make_heap({.verify = true});
  roots_.slots = {nullptr, nullptr};
  Weak* dead = make_weak(make_pair());
  roots_.slots[0] = ref(dead);
  roots_.slots[1] = ref(make_pair());
  Weak* alive = make_weak(roots_.slots[1]);
  roots_.slots.push_back(ref(alive));
  minor();
  EXPECT_EQ(dead->target, nullptr);
  EXPECT_EQ(alive->target, roots_.slots[1]);
}

TEST_F(WeakReferences, ToOldObjectsAreClearedByFullCollections) {
  make_heap({.verify = true});
  roots_.slots = {ref(make_pair()), nullptr};
  minor();
  Weak* weak = make_weak(roots_.slots[0]);
  roots_.slots[1] = ref(weak);
  minor();
  roots_.slots[0] = nullptr;
  minor();
  EXPECT_NE(weak->target, nullptr);
  full();
  EXPECT_EQ(weak->target, nullptr);
}

TEST_F(WeakReferences, MayBeNullAndMayDieFirst) {
  make_heap({.verify = true});
  EXPECT_EQ(make_weak(nullptr)->target, nullptr);
  roots_.slots = {ref(make_pair())};
  make_weak(roots_.slots[0]);
  minor();
  full();
  expect_sound();
}

TEST_F(WeakReferences, KeepTheTargetAliveWhileTheyAreMade) {
  make_heap({.stress = 1, .verify = true});
  auto* target = make<Box>(kBox);
  target->value = 42;
  Weak* weak = make_weak(target);
  ASSERT_EQ(weak->target, ref(target));
  EXPECT_EQ(target->header.type, kBox);
  EXPECT_EQ(target->value, 42u);
}

TEST_F(WeakReferences, MayPointAtLargeAndImmortalObjects) {
  make_heap({.verify = true});
  roots_.slots = {ref(make_weak(make_array(kBytes, 100'000))),
                  ref(make_weak(heap_->allocate_immortal_string(kText, "constant")))};
  full();
  EXPECT_EQ(reinterpret_cast<Weak*>(roots_.slots[0])->target, nullptr);
  EXPECT_NE(reinterpret_cast<Weak*>(roots_.slots[1])->target, nullptr);
}

class Cleaners : public HeapTest {
 protected:
  static void note(Object* dead, void* context) {
    auto* values = static_cast<std::vector<std::uint64_t>*>(context);
    values->push_back(reinterpret_cast<Box*>(dead)->value);  // the object is intact
  }
  Box* make_watched(std::uint64_t value) {
    auto* box = make<Box>(kBox);
    box->value = value;
    heap_->add_cleaner(ref(box), note, &cleaned_);
    return box;
  }
  std::vector<std::uint64_t> cleaned_;
};

TEST_F(Cleaners, RunOnceAfterDeathOrAtTheEnd) {
  make_heap({.verify = true});
  make_watched(1);
  roots_.slots = {ref(make_watched(2)), ref(make_watched(3))};
  minor();
  EXPECT_EQ(cleaned_, (std::vector<std::uint64_t>{1}));
  roots_.slots[0] = nullptr;
  minor();  // object 2 is old by now
  EXPECT_EQ(cleaned_.size(), 1u);
  full();
  EXPECT_EQ(cleaned_, (std::vector<std::uint64_t>{1, 2}));
  make_watched(4);
  EXPECT_EQ(heap_->stats().cleaners_run, 2u);
  heap_.reset();
  std::sort(cleaned_.begin(), cleaned_.end());
  EXPECT_EQ(cleaned_, (std::vector<std::uint64_t>{1, 2, 3, 4}));
}

TEST_F(Cleaners, RunBeforeMemoryIsReused) {
  make_heap({.nursery_bytes = kBlockSize, .verify = true});
  for (std::uint64_t i = 0; i < 20'000; ++i) make_watched(i);
  heap_.reset();
  std::sort(cleaned_.begin(), cleaned_.end());
  ASSERT_EQ(cleaned_.size(), 20'000u);
  for (std::uint64_t i = 0; i < cleaned_.size(); ++i) ASSERT_EQ(cleaned_[i], i);
}

TEST_F(Cleaners, OfLargeObjectsSeeThemIntact) {
  make_heap({.verify = true});
  std::size_t length = 0;
  Array* array = make_array(kBytes, 100'000);
  heap_->add_cleaner(
      ref(array),
      [](Object* dead, void* context) {
        *static_cast<std::size_t*>(context) =
            static_cast<std::size_t>(reinterpret_cast<Array*>(dead)->length);
      },
      &length);
  minor();
  EXPECT_EQ(length, 100'000u);
}

TEST_F(Cleaners, ReleaseResources) {
  make_heap({.verify = true});
  int open = 1;
  heap_->allocate_resource(
      kHandle, &open,
      [](Object* dead, void*) { *static_cast<int*>(reinterpret_cast<Resource*>(dead)->pointer) = 0; },
      nullptr);
  EXPECT_EQ(open, 1);
  full();
  EXPECT_EQ(open, 0);
}

class ExternalBytes : public Cleaners {};

// Small handles to 1 MiB each: without pressure a nursery of handles would hold 80 GiB.
TEST_F(ExternalBytes, DriveCollections) {
  make_heap();
  struct Accounts {
    Heap* heap;
    std::size_t outstanding = 0;
    std::size_t peak = 0;
  } accounts{heap_.get()};
  constexpr std::size_t kMiB = std::size_t{1} << 20;
  for (int i = 0; i < 10'000; ++i) {
    auto* box = make<Box>(kBox);
    heap_->add_external(kMiB);
    accounts.outstanding += kMiB;
    accounts.peak = std::max(accounts.peak, accounts.outstanding);
    heap_->add_cleaner(
        ref(box),
        [](Object*, void* context) {
          auto* to = static_cast<Accounts*>(context);
          to->outstanding -= kMiB;
          to->heap->remove_external(kMiB);
        },
        &accounts);
  }
  // At most four times the usual 64 MiB of young and 256 MiB of old buffers, however fast the machine.
  EXPECT_LE(accounts.peak, 4 * (256 + 64) * kMiB);
  EXPECT_EQ(heap_->stats().external_bytes, accounts.outstanding);
  heap_.reset();
  EXPECT_EQ(accounts.outstanding, 0u);
}

TEST_F(ExternalBytes, CollectOnlyInsideAllocation) {
  make_heap();
  make_watched(1);
  heap_->add_external(std::size_t{1} << 30);
  EXPECT_TRUE(cleaned_.empty());
  make<Box>(kBox);
  EXPECT_EQ(cleaned_.size(), 1u);
}

}  // namespace
}  // namespace dhpvm::gc::testing
