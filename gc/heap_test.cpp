// SPDX-License-Identifier: Apache-2.0
#include "gc/heap.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <thread>

#include "gc/test_types.h"

namespace dhpvm::gc::testing {
namespace {

using HeapAllocation = HeapTest;

TEST_F(HeapAllocation, GivesZeroedObjectsWithAHeader) {
  make_heap();
  auto* node = make<Node>(kNode);
  ASSERT_NE(node, nullptr);
  EXPECT_EQ(node->header.type, kNode);
  EXPECT_EQ(node->header.granules(), sizeof(Node) / kGranule);
  EXPECT_EQ(node->children[0], nullptr);
  EXPECT_EQ(node->children[2], nullptr);
  EXPECT_EQ(node->value, 0u);
}

TEST_F(HeapAllocation, ReusesMemoryZeroed) {
  make_heap({.nursery_bytes = kBlockSize});
  for (int i = 0; i < 100'000; ++i) {
    auto* node = make<Node>(kNode);
    ASSERT_EQ(node->children[0], nullptr);
    ASSERT_EQ(node->children[1], nullptr);
    ASSERT_EQ(node->children[2], nullptr);
    ASSERT_EQ(node->value, 0u);
    std::memset(static_cast<void*>(node->children), 0x55, sizeof(Node) - sizeof(Header));
  }
  EXPECT_GT(heap_->stats().minor_collections, 50u);
  EXPECT_LE(heap_->stats().peak_block_bytes, 3 * kBlockSize);
}

TEST_F(HeapAllocation, KeepsWhatIsReachable) {
  make_heap({.nursery_bytes = kBlockSize, .verify = true});
  roots_.slots.assign(1, nullptr);
  for (int i = 0; i < 10'000; ++i) {
    auto* pair = make_pair(reinterpret_cast<Pair*>(roots_.slots[0]));
    roots_.slots[0] = ref(pair);
    make_pair();  // garbage in between
  }
  int length = 0;
  for (auto* pair = reinterpret_cast<Pair*>(roots_.slots[0]); pair != nullptr; pair = pair->first) ++length;
  EXPECT_EQ(length, 10'000);
}

TEST_F(HeapAllocation, FullCollectionFreesEverythingUnreachable) {
  make_heap();
  roots_.slots.assign(1, nullptr);
  for (int i = 0; i < 100'000; ++i)
    roots_.slots[0] = ref(make_pair(reinterpret_cast<Pair*>(roots_.slots[0])));
  full();
  EXPECT_EQ(heap_->stats().live_bytes, 100'000 * sizeof(Pair));
  roots_.slots.clear();
  minor();
  EXPECT_EQ(heap_->stats().live_bytes, 100'000 * sizeof(Pair));
  full();
  EXPECT_EQ(heap_->stats().live_bytes, 0u);
  EXPECT_EQ(heap_->stats().block_bytes, 0u);
}

TEST_F(HeapAllocation, StringsOfEverySize) {
  make_heap({.nursery_bytes = kBlockSize, .verify = true});
  std::vector<std::string> expected;
  for (std::size_t size = 0; size < 40'000; size = size * 3 / 2 + 1) {
    String* string = heap_->allocate_string(kText, size);
    ASSERT_NE(string, nullptr);
    EXPECT_EQ(string->size, size);
    EXPECT_EQ(string->hash, 0u);
    expected.emplace_back(size, static_cast<char>('a' + size % 26));
    std::memcpy(string->bytes(), expected.back().data(), size);
    EXPECT_EQ(string->header.has(kLarge), size + sizeof(String) > kLargeThreshold);
    roots_.slots.push_back(ref(string));
  }
  minor();
  full();
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(reinterpret_cast<String*>(roots_.slots[i])->view(), expected[i]);
  }
}

TEST_F(HeapAllocation, ArraysKnowTheirElements) {
  make_heap();
  for (const std::int64_t length : {0, 1, 5, 100, 5'000, 100'000}) {
    Array* bytes = make_array(kBytes, length);
    ASSERT_NE(bytes, nullptr);
    EXPECT_EQ(bytes->data, reinterpret_cast<std::byte*>(bytes) + sizeof(Array));
    EXPECT_EQ(bytes->length, length);
    EXPECT_EQ(bytes->readable, length);
    EXPECT_EQ(bytes->writable, length);
    EXPECT_EQ(bytes->buffer, nullptr);
    for (std::int64_t i = 0; i < length; ++i) ASSERT_EQ(bytes->data[i], std::byte{0});
    std::memset(static_cast<void*>(bytes->data), 0x5A, static_cast<std::size_t>(length));
    Array* grid = make_array(kGrid, length);
    EXPECT_EQ(grid->data, reinterpret_cast<std::byte*>(grid) + sizeof(MultiArray));
  }
}

TEST_F(HeapAllocation, HandleOnlyArraysHaveNoAccessibleElement) {
  make_heap();
  Array* array = heap_->allocate_array_handle(kBytes, kTypes[kBytes], 1'000'000);
  ASSERT_NE(array, nullptr);
  EXPECT_EQ(array->length, 1'000'000);
  EXPECT_EQ(array->readable, 0);
  EXPECT_EQ(array->data, nullptr);
  roots_.slots.push_back(ref(array));
  minor();
  full();
  expect_sound();
}

TEST_F(HeapAllocation, AbsurdLengthsGiveNull) {
  make_heap();
  EXPECT_EQ(make_array(kRefs, INT64_MAX), nullptr);
  EXPECT_EQ(make_array(kBytes, INT64_MAX), nullptr);
  EXPECT_EQ(make_array(kEntries, INT64_MAX / 8), nullptr);
  EXPECT_EQ(heap_->allocate_string(kText, std::size_t{1} << 40), nullptr);
}

TEST_F(HeapAllocation, LargeInstancesAreTracedAndFreed) {
  make_heap({.verify = true});
  auto* huge = make<Huge>(kHuge);
  ASSERT_NE(huge, nullptr);
  EXPECT_TRUE(huge->header.has(kLarge));
  roots_.slots.push_back(ref(huge));
  huge->children[1] = ref(make_pair());
  minor();
  expect_sound();
  EXPECT_GT(heap_->stats().large_bytes, sizeof(Huge));
  roots_.slots.clear();
  full();
  EXPECT_EQ(heap_->stats().large_bytes, 0u);
}

TEST_F(HeapAllocation, LargeGarbageDiesInMinorCollections) {
  make_heap({.nursery_bytes = 1 << 20});
  for (int i = 0; i < 1000; ++i) ASSERT_NE(heap_->allocate_string(kText, 100'000), nullptr);
  EXPECT_GT(heap_->stats().minor_collections, 50u);
  EXPECT_EQ(heap_->stats().full_collections, 0u);
  EXPECT_LE(heap_->stats().large_bytes, 2u << 20);
}

TEST_F(HeapAllocation, ImmortalStringsSurviveEverything) {
  make_heap({.verify = true});
  String* constant = heap_->allocate_immortal_string(kText, "constant");
  String* longer = heap_->allocate_immortal_string(kText, std::string(100'000, 'x'));
  auto* node = make<Node>(kNode);
  node->children[0] = ref(constant);
  node->children[1] = ref(longer);
  roots_.slots.push_back(ref(node));
  minor();
  full();
  EXPECT_EQ(constant->view(), "constant");
  EXPECT_EQ(longer->size, 100'000u);
  EXPECT_GE(heap_->stats().immortal_bytes, 100'000u);
}

TEST_F(HeapAllocation, CountsAllocatedBytes) {
  make_heap({.nursery_bytes = kBlockSize * 4});
  for (int i = 0; i < 50'000; ++i) make_pair();
  EXPECT_EQ(heap_->stats().bytes_allocated, 50'000 * sizeof(Pair));
  make<Medium>(kMedium);
  EXPECT_EQ(heap_->stats().bytes_allocated, 50'000 * sizeof(Pair) + round_up(sizeof(Medium), kGranule));
  heap_->collect(CollectionKind::kFull);
  EXPECT_EQ(heap_->stats().bytes_allocated, 50'000 * sizeof(Pair) + round_up(sizeof(Medium), kGranule));
  make_array(kBytes, 100'000);
  EXPECT_GE(heap_->stats().bytes_allocated, 50'000 * sizeof(Pair) + 100'000u);
}

// ---- Limits

using HeapLimits = HeapTest;

TEST_F(HeapLimits, EndInNullNotInACrash) {
  make_heap({.limit_bytes = 4 << 20});
  roots_.slots.assign(1, nullptr);
  std::size_t count = 0;
  for (Pair* pair = nullptr; (pair = make_pair(pair)) != nullptr; ++count) roots_.slots[0] = ref(pair);
  EXPECT_GT(count * sizeof(Pair), std::size_t{3} << 20);
  EXPECT_LE(heap_->stats().block_bytes, std::size_t{4} << 20);
  EXPECT_GE(heap_->stats().full_collections, 1u);
  const std::string census = heap_->census();
  EXPECT_NE(census.find("Pair"), std::string::npos) << census;
  expect_sound();
  // The program drops its data: allocation works again.
  roots_.slots.clear();
  EXPECT_NE(make_pair(), nullptr);
}

TEST_F(HeapLimits, GarbageNeverReachesThem) {
  make_heap({.limit_bytes = 4 << 20});
  for (int i = 0; i < 2'000'000; ++i) ASSERT_NE(make_pair(), nullptr);
  for (int i = 0; i < 2'000; ++i) ASSERT_NE(make_array(kRefs, 20'000), nullptr);
  for (int i = 0; i < 20'000; ++i) ASSERT_NE(make<Medium>(kMedium), nullptr);
}

TEST_F(HeapLimits, HoldForLargeObjects) {
  make_heap({.limit_bytes = 4 << 20});
  EXPECT_EQ(make_array(kBytes, 5 << 20), nullptr);
  Array* fits = make_array(kBytes, 3 << 20);
  ASSERT_NE(fits, nullptr);
  roots_.slots.push_back(ref(fits));
  EXPECT_EQ(make_array(kBytes, 3 << 20), nullptr);
  roots_.slots.clear();
  EXPECT_NE(make_array(kBytes, 3 << 20), nullptr);
}

TEST_F(HeapLimits, OneLargeObjectMayExceedTheExpectedGrowth) {
  make_heap();
  Array* array = make_array(kBytes, 200 << 20);
  ASSERT_NE(array, nullptr);
  roots_.slots.push_back(ref(array));
  for (int i = 0; i < 100'000; ++i) ASSERT_NE(make_pair(), nullptr);
}

// A slow leak must not end in a full collection per handful of objects.
TEST_F(HeapLimits, AreReachedOnlyWithLiveDataNearThemAndWithoutCrawling) {
  constexpr std::size_t kLimit = std::size_t{2} << 20;
  make_heap({.limit_bytes = kLimit});
  roots_.slots.assign(1, nullptr);
  std::size_t live = 0;
  for (int i = 0;; ++i) {
    Pair* pair = make_pair(reinterpret_cast<Pair*>(roots_.slots[0]));
    if (pair == nullptr) break;
    if (i % 100 != 0) continue;  // garbage
    roots_.slots[0] = ref(pair);
    live += sizeof(Pair);
  }
  EXPECT_GT(live, kLimit - kLimit / 32);
  EXPECT_LE(heap_->stats().full_collections, 5u);
}

// Holes that are all too small for an object count as memory used up since the last collection when they are
// opened again and again without effect.
TEST_F(HeapLimits, AreReachedWhenNoHoleIsLargeEnough) {
  constexpr std::size_t kLimit = std::size_t{4} << 20;
  make_heap({.limit_bytes = kLimit});
  while (auto* box = make<Box>(kBox)) roots_.slots.push_back(ref(box));
  for (std::size_t i = 0; i < roots_.slots.size(); i += 2) roots_.slots[i] = nullptr;
  full();
  EXPECT_LT(heap_->stats().live_bytes, kLimit * 3 / 4);
  while (auto* pair = make<Pair>(kPair)) roots_.slots.push_back(ref(pair));
  EXPECT_NE(make<Box>(kBox), nullptr);
  expect_sound();
}

// ---- Roots

using HeapRoots = HeapTest;

TEST_F(HeapRoots, HandlesKeepObjectsAlive) {
  make_heap({.verify = true});
  Root<Pair> first(*heap_, make_pair());
  first->first = make_pair();
  {
    Root<Pair> second = first;
    Root<Pair> third(*heap_);
    third = second;
    second.set(nullptr);
    full();
    EXPECT_EQ(third.get(), first.get());
  }
  EXPECT_EQ(heap_->stats().live_bytes, 2 * sizeof(Pair));
  first.set(nullptr);
  full();
  EXPECT_EQ(heap_->stats().live_bytes, 0u);
}

TEST_F(HeapRoots, HandlesOutliveTheHeapAsNull) {
  make_heap();
  Root<Pair> handle(*heap_, make_pair());
  Root<Pair> other(*heap_, handle.get());
  heap_.reset();
  EXPECT_FALSE(handle);
  EXPECT_FALSE(other);
  other = handle;
  EXPECT_FALSE(other);
}

TEST_F(HeapRoots, AMillionSlots) {
  make_heap({.nursery_bytes = 1 << 20});
  roots_.slots.assign(1'000'000, nullptr);
  for (std::size_t i = 0; i < roots_.slots.size(); i += 10) {
    auto* box = make<Box>(kBox);
    box->value = i;
    roots_.slots[i] = ref(box);
  }
  full();
  for (std::size_t i = 0; i < roots_.slots.size(); i += 10) {
    ASSERT_EQ(reinterpret_cast<Box*>(roots_.slots[i])->value, i);
  }
  expect_sound();
}

// ---- Marking

using HeapMarking = HeapTest;

TEST_F(HeapMarking, DeepListsAndCycles) {
  make_heap();
  roots_.slots.assign(1, nullptr);
  Pair* last = make_pair();
  roots_.slots[0] = ref(last);
  Pair* head = last;
  for (int i = 0; i < 1'000'000; ++i) {
    head = make_pair(head);
    roots_.slots[0] = ref(head);
  }
  heap_->write_barrier(ref(last));
  last->second = head;
  full();
  EXPECT_EQ(heap_->stats().live_bytes, sizeof(Pair) * 1'000'001);
  roots_.slots[0] = nullptr;
  full();
  EXPECT_EQ(heap_->stats().live_bytes, 0u);
}

// A stack of 512 entries overflows on any wide structure; the marker must find what it dropped.
TEST_F(HeapMarking, SurvivesAnOverflowOfItsStack) {
  make_heap({.nursery_bytes = 1 << 20, .verify = true, .mark_stack_bytes = 4096});
  Array* wide = make_array(kRefs, 5'000);
  roots_.slots.push_back(ref(wide));
  for (std::int64_t i = 0; i < wide->length; ++i) {
    auto* node = make<Node>(kNode);
    heap_->write_barrier(wide, i);
    elements(wide)[i] = ref(node);
    for (Ref& child : node->children) {
      auto* pair = make_pair();
      heap_->write_barrier(ref(node));
      child = ref(pair);
    }
  }
  minor();
  full();
  expect_sound();
  EXPECT_GE(heap_->stats().live_bytes, 5'000u * (sizeof(Node) + 3 * sizeof(Pair)));
}

TEST_F(HeapMarking, ElementsWithSeveralReferences) {
  make_heap({.nursery_bytes = kBlockSize, .verify = true});
  for (const std::int64_t length : {3, 300, 3'000}) {
    Array* array = make_array(kEntries, length);
    roots_.slots.assign(1, ref(array));
    for (std::int64_t i = 0; i < length; ++i) {
      auto* pair = make_pair();
      auto* entry = reinterpret_cast<Entry*>(array->data) + i;
      heap_->write_barrier(array, i);
      entry->key = i;
      (i % 2 == 0 ? entry->first : entry->second) = ref(pair);
    }
    full();
    EXPECT_GE(heap_->stats().live_bytes, static_cast<std::size_t>(length) * (sizeof(Entry) + sizeof(Pair)));
  }
}

// ---- Other modes and figures

using HeapModes = HeapTest;

TEST_F(HeapModes, StressCollectsAtEveryNthAllocation) {
  make_heap({.stress = 1, .verify = true});
  for (int i = 0; i < 100; ++i) roots_.slots.push_back(ref(make_pair()));
  const HeapStats every = heap_->stats();
  EXPECT_EQ(every.minor_pauses.count() + every.full_pauses.count(), 100u);
  EXPECT_EQ(every.full_collections, 12u);
  EXPECT_LT(every.minor_collections, every.minor_pauses.count());  // some are done in parts
  roots_.slots.clear();
  make_heap({.stress = 10});
  for (int i = 0; i < 100; ++i) heap_->allocate_string(kText, static_cast<std::size_t>(i));
  EXPECT_EQ(heap_->stats().minor_pauses.count() + heap_->stats().full_pauses.count(), 10u);
}

TEST_F(HeapModes, TracesCollections) {
  Tracer tracer;
  make_heap({.tracer = &tracer});
  minor();
  full();
  const std::string json = tracer.to_json();
  EXPECT_NE(json.find("minor collection (requested)"), std::string::npos);
  EXPECT_NE(json.find("full collection (requested)"), std::string::npos);
  EXPECT_NE(json.find("heap footprint"), std::string::npos);
}

TEST_F(HeapModes, CensusNamesTheLargestTypesFirst) {
  make_heap();
  for (int i = 0; i < 10; ++i) roots_.slots.push_back(ref(make_pair()));
  roots_.slots.push_back(ref(make_array(kBytes, 50'000)));
  full();
  const std::string census = heap_->census(1);
  EXPECT_NE(census.find("[u8]"), std::string::npos) << census;
  EXPECT_EQ(census.find("Pair"), std::string::npos) << census;
  EXPECT_NE(heap_->census().find("10 Pair"), std::string::npos) << heap_->census();
}

TEST_F(HeapModes, SmallReservationsWork) {
  make_heap({.reservation_bytes = 1 << 20});
  for (int i = 0; i < 1'000'000; ++i) ASSERT_NE(make_pair(), nullptr);
  roots_.slots.assign(1, nullptr);
  Pair* pair = nullptr;
  while ((pair = make_pair(reinterpret_cast<Pair*>(roots_.slots[0]))) != nullptr) roots_.slots[0] = ref(pair);
  EXPECT_GE(heap_->stats().full_collections, 1u);
}

TEST_F(HeapModes, UnusedMemoryGoesBackToTheSystem) {
  make_heap();
  // 32 MB; a block in the middle, and so its huge page, stays in use.
  roots_.slots.assign(2, nullptr);
  for (int i = 0; i < 1'000'000; ++i) {
    roots_.slots[0] = ref(make_pair(reinterpret_cast<Pair*>(roots_.slots[0])));
    if (i != 500'000) continue;
    auto* box = make<Box>(kBox);
    box->value = 42;
    roots_.slots[1] = ref(box);
  }
  const auto resident = [](void* address) {
    unsigned char page = 0;
    void* start = static_cast<std::byte*>(address) - reinterpret_cast<std::uintptr_t>(address) % 4096;
    EXPECT_EQ(mincore(start, 1, &page), 0);
    return (page & 1) != 0;
  };
  void* dead = reinterpret_cast<Pair*>(roots_.slots[0])->first;
  roots_.slots[0] = nullptr;
  full();
  EXPECT_TRUE(resident(dead));
  for (int i = 0; i < 3; ++i) full();
  EXPECT_FALSE(resident(dead));
  EXPECT_EQ(reinterpret_cast<Box*>(roots_.slots[1])->value, 42u);
  // Discarded blocks read as zero and are used again.
  for (int i = 0; i < 1'000'000; ++i) {
    Pair* pair = make_pair(reinterpret_cast<Pair*>(roots_.slots[0]));
    ASSERT_EQ(pair->second, nullptr);
    roots_.slots[0] = ref(pair);
  }
  EXPECT_TRUE(resident(dead));
  expect_sound();
}

TEST_F(HeapModes, AMarkStackThatIsInUseIsGivenBackZeroed) {
  constexpr std::size_t kStack = 1 << 20;
  ReservationPool pool;
  make_heap({.nursery_bytes = std::size_t{32} << 20,
             .address_space = &pool,
             .reservation_bytes = std::size_t{256} << 20,
             .mark_stack_bytes = kStack});
  roots_.slots.assign(1, nullptr);
  while (heap_->stats().minor_pauses.count() == 0)
    roots_.slots[0] = ref(make_pair(reinterpret_cast<Pair*>(roots_.slots[0])));
  EXPECT_EQ(heap_->stats().minor_collections, 0u);
  heap_.reset();
  const Reservation stack = pool.take(kStack, kPageSize);
  EXPECT_TRUE(std::all_of(stack.data(), stack.data() + kPageSize,
                          [](std::byte byte) { return byte == std::byte{0}; }));
}

TEST_F(HeapModes, TwoHeapsAreIndependent) {
  make_heap();
  RootStack other_roots;
  auto other = Heap::create({}, kTypes, other_roots).value();
  roots_.slots.push_back(ref(make_pair()));
  other_roots.slots.push_back(other->allocate(kBox, kTypes[kBox]));
  full();
  other->collect(CollectionKind::kFull);
  EXPECT_EQ(heap_->stats().live_bytes, sizeof(Pair));
  EXPECT_EQ(other->stats().live_bytes, 16u);
}

// One thread at a time, but any thread: nothing in a heap may belong to the thread that made it.
TEST_F(HeapModes, AHeapMayMoveBetweenThreads) {
  make_heap({.nursery_bytes = kBlockSize});
  roots_.slots.assign(2, nullptr);
  for (int round = 0; round < 8; ++round) {
    std::thread worker([&] {
      for (int i = 0; i < 2'000; ++i) {
        roots_.slots[0] = ref(make_pair(reinterpret_cast<Pair*>(roots_.slots[0])));
        roots_.slots[1] = ref(heap_->allocate_string(kText, 20'000));
      }
    });
    worker.join();
  }
  full();
  expect_sound();
  std::thread([&] { heap_.reset(); }).join();
}

}  // namespace
}  // namespace dhpvm::gc::testing
