// SPDX-License-Identifier: Apache-2.0
// The write barrier: what it must remember, and that forgetting it does not go unnoticed.
#include "gc/test_types.h"

namespace dhpvm::gc::testing {
namespace {

using WriteBarrier = HeapTest;

TEST_F(WriteBarrier, OldToYoungReferencesKeepTheYoungAlive) {
  make_heap({.verify = true});
  Pair* old = make_pair();
  roots_.slots = {ref(old)};
  minor();
  EXPECT_TRUE(old->header.has(kUnlogged));
  for (int round = 0; round < 3; ++round) {
    Pair* young = make_pair();
    heap_->write_barrier(ref(old));
    EXPECT_FALSE(old->header.has(kUnlogged));
    old->first = young;
    minor();
    EXPECT_TRUE(old->header.has(kUnlogged));
    expect_sound();
    EXPECT_EQ(heap_->stats().live_bytes, sizeof(Pair) * (2 + static_cast<unsigned>(round)));
  }
}

TEST_F(WriteBarrier, YoungObjectsNeedNone) {
  make_heap();
  Pair* young = make_pair();
  heap_->write_barrier(ref(young));
  EXPECT_EQ(young->header.granules(), sizeof(Pair) / kGranule);
  EXPECT_FALSE(young->header.has(kUnlogged));
}

TEST_F(WriteBarrier, OmittedForAFieldIsCaught) {
  make_heap();
  Pair* old = make_pair();
  roots_.slots = {ref(old)};
  minor();
  Pair* young = make_pair();
  old->first = young;  // no barrier
  const Status status = heap_->check();
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code(), ErrorCode::kInternal);
  EXPECT_NE(status.error().message().find("without a write barrier"), std::string::npos);
  heap_->write_barrier(ref(old));
  expect_sound();
}

TEST_F(WriteBarrier, OmittedForAnElementIsCaught) {
  for (const std::int64_t length : {10, 500, 10'000}) {  // one that lies in a block, one large with cards
    make_heap();
    Array* old = make_array(kRefs, length);
    roots_.slots = {ref(old)};
    minor();
    Pair* young = make_pair();
    elements(old)[length - 1] = ref(young);
    EXPECT_FALSE(heap_->check().ok()) << length;
    heap_->write_barrier(old, length - 1);
    expect_sound();
  }
}

TEST_F(WriteBarrier, ForTheWrongElementOfALargeArrayIsCaught) {
  make_heap();
  Array* old = make_array(kRefs, 10'000);
  roots_.slots = {ref(old)};
  minor();
  Pair* young = make_pair();
  elements(old)[5'000] = ref(young);
  heap_->write_barrier(old, 1);
  EXPECT_FALSE(heap_->check().ok());
  heap_->write_barrier(old, 5'000);
  expect_sound();
}

using WriteBarrierDeathTest = HeapTest;

TEST_F(WriteBarrierDeathTest, VerificationEndsTheProcess) {
  make_heap({.verify = true});
  Pair* old = make_pair();
  roots_.slots = {ref(old)};
  minor();
  old->first = make_pair();
  EXPECT_DEATH(minor(), "heap verification failed before a minor collection.*without a write barrier");
}

TEST_F(WriteBarrier, CardsKeepElementsOfLargeArraysAlive) {
  make_heap({.verify = true});
  Array* old = make_array(kRefs, 100'000);
  roots_.slots = {ref(old)};
  minor();
  for (std::int64_t i = 0; i < old->length; i += 997) {
    Pair* young = make_pair();
    heap_->write_barrier(old, i);
    EXPECT_TRUE(old->header.has(kUnlogged));
    elements(old)[i] = ref(young);
  }
  minor();
  expect_sound();
  minor();
  full();
  for (std::int64_t i = 0; i < old->length; i += 997) ASSERT_EQ(elements(old)[i]->header.type, kPair);
}

TEST_F(WriteBarrier, CardsCoverElementsThatStraddleThem) {
  make_heap({.verify = true});
  Array* old = make_array(kEntries, 10'000);  // 24 bytes each: 1024 is no multiple
  roots_.slots = {ref(old)};
  minor();
  for (std::int64_t i = 0; i < old->length; i += 41) {
    Pair* young = make_pair();
    heap_->write_barrier(old, i);
    reinterpret_cast<Entry*>(old->data)[i].second = ref(young);
  }
  minor();
  expect_sound();
}

TEST_F(WriteBarrier, RangesAndUnknownElements) {
  make_heap({.verify = true});
  for (const std::int64_t length : {100, 50'000}) {
    Array* old = make_array(kRefs, length);
    roots_.slots = {ref(old), nullptr};
    minor();
    Pair* young = make_pair();
    heap_->write_barrier(old, length / 4, length / 2);
    for (std::int64_t i = length / 4; i < length / 4 + length / 2; ++i) elements(old)[i] = ref(young);
    heap_->write_barrier(old, 0, 0);
    minor();
    young = make_pair();
    heap_->write_barrier(ref(old));
    elements(old)[length - 1] = ref(young);
    minor();
    expect_sound();
  }
}

// As arrays that the program closes after it has written to them.
TEST_F(WriteBarrier, RememberedArraysMayLoseTheirElements) {
  make_heap({.verify = true});
  for (const std::int64_t length : {100, 50'000}) {
    Array* old = make_array(kRefs, length);
    roots_.slots = {ref(old)};
    minor();
    Pair* young = make_pair();
    heap_->write_barrier(old, length / 2);
    elements(old)[length / 2] = ref(young);
    old->data = nullptr;
    old->readable = old->writable = 0;
    minor();
    expect_sound();
  }
}

TEST_F(WriteBarrier, LargeInstancesAreLoggedWhole) {
  make_heap({.verify = true});
  auto* old = make<Huge>(kHuge);
  roots_.slots = {ref(old)};
  minor();
  Pair* young = make_pair();
  heap_->write_barrier(ref(old));
  old->children[2] = ref(young);
  minor();
  expect_sound();
}

// The remembered set is emptied by full collections too; dead entries in it must do no harm.
TEST_F(WriteBarrier, DeadObjectsMayBeRemembered) {
  make_heap({.verify = true});
  Pair* old = make_pair();
  Array* array = make_array(kRefs, 50'000);
  roots_.slots = {ref(old), ref(array)};
  minor();
  Pair* young = make_pair();
  heap_->write_barrier(ref(old));
  old->first = young;
  heap_->write_barrier(array, 7);
  elements(array)[7] = ref(young);
  roots_.slots.clear();
  full();
  EXPECT_EQ(heap_->stats().live_bytes, 0u);
  for (int i = 0; i < 100'000; ++i) make_pair();
  minor();
  expect_sound();
}

}  // namespace
}  // namespace dhpvm::gc::testing
