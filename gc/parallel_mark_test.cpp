// SPDX-License-Identifier: Apache-2.0
// Marking and sweeping by several threads, checked by the independent verifier around every collection.
#include <random>

#include "base/thread_pool.h"
#include "gc/test_types.h"

namespace dhpvm::gc::testing {
namespace {

// More than one thread marks alone, so that the others join in; and no more than that needs, because all of it is slow
// under ThreadSanitizer.
constexpr int kDepth = 15;
constexpr std::size_t kTree = (std::size_t{2} << kDepth) - 1;  // objects

class ParallelMark : public HeapTest, public ::testing::WithParamInterface<unsigned> {
 protected:
  HeapOptions options() { return {.verify = true, .thread_pool = &pool_}; }
  // A complete tree below a new root.
  Pair* make_tree(int depth) {
    const std::size_t slot = roots_.slots.size();
    roots_.slots.resize(slot + 2);
    if (depth != 0) {
      roots_.slots[slot] = ref(make_tree(depth - 1));
      roots_.slots[slot + 1] = ref(make_tree(depth - 1));
    }
    Pair* const pair = make_pair();
    pair->first = reinterpret_cast<Pair*>(roots_.slots[slot]);
    pair->second = reinterpret_cast<Pair*>(roots_.slots[slot + 1]);
    roots_.slots.resize(slot);
    return pair;
  }
  static std::size_t count(const Pair* pair) {
    return pair == nullptr ? 0 : 1 + count(pair->first) + count(pair->second);
  }

  ThreadPool pool_{GetParam()};
};

TEST_P(ParallelMark, KeepsATree) {
  make_heap({.thread_pool = &pool_});
  roots_.slots.push_back(ref(make_tree(kDepth)));
  for (int i = 0; i < 4; ++i) {
    full();
    EXPECT_EQ(heap_->stats().live_bytes, kTree * round_up(sizeof(Pair), kGranule));
  }
  EXPECT_EQ(count(reinterpret_cast<Pair*>(roots_.slots[0])), kTree);
  expect_sound();
  roots_.slots.clear();
  full();
  EXPECT_EQ(heap_->stats().live_bytes, 0u);
}

// No thread can help with a list, and what is longest must not be lost.
TEST_P(ParallelMark, KeepsALongList) {
  make_heap(options());
  roots_.slots.resize(1);
  constexpr int kLength = 40'000;
  for (int i = 0; i < kLength; ++i)
    roots_.slots[0] = ref(make_pair(reinterpret_cast<Pair*>(roots_.slots[0])));
  full();
  EXPECT_EQ(heap_->stats().live_bytes, kLength * round_up(sizeof(Pair), kGranule));
}

TEST_P(ParallelMark, KeepsRandomGraphsWithArraysAndLargeObjects) {
  make_heap(options());
  std::mt19937 random(1);
  roots_.slots.assign(64, nullptr);
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 20'000; ++i) {
      Ref& slot = roots_.slots[random() % roots_.slots.size()];
      const Ref other = roots_.slots[random() % roots_.slots.size()];
      if (random() % 64 == 0) {
        Array* const array = make_array(kRefs, static_cast<std::int64_t>(random() % 3000));
        for (std::int64_t j = 0; j < array->length; ++j)
          elements(array)[j] = roots_.slots[static_cast<std::size_t>(j) % roots_.slots.size()];
        slot = ref(array);
      } else {
        Node* const node = make<Node>(kNode);
        node->children[0] = slot;
        node->children[1] = other;
        slot = ref(node);
      }
    }
    full();
    for (Ref& slot : roots_.slots) slot = random() % 4 == 0 ? nullptr : slot;
    minor();
    full();
  }
}

// A nursery in which everything survives is marked together as well; a stack that overflows is made up for.
TEST_P(ParallelMark, MarksLargeNurseriesAndOverflowingStacks) {
  HeapOptions small = options();
  small.nursery_bytes = std::size_t{32} << 20;
  small.mark_stack_bytes = 4096;
  make_heap(small);
  roots_.slots.push_back(ref(make_tree(kDepth)));
  Array* const all = make_array(kRefs, 40'000);
  roots_.slots.push_back(ref(all));
  for (std::int64_t i = 0; i < all->length; ++i) {
    Pair* const pair = make_pair();
    heap_->write_barrier(all, i);
    elements(all)[i] = ref(pair);
  }
  minor();
  full();
  EXPECT_GE(heap_->stats().live_bytes, (40'000 + kTree) * sizeof(Pair));
}

// Nurseries that take several parts, while the program goes on hanging objects into others that are marked already.
TEST_P(ParallelMark, KeepsWhatIsWrittenBetweenParts) {
  make_heap({.nursery_bytes = std::size_t{4} << 20, .thread_pool = &pool_});
  constexpr std::int64_t kLists = 2000;
  Array* const lists = make_array(kRefs, kLists);
  roots_.slots.push_back(ref(lists));
  std::mt19937 random(1);
  std::size_t made = 0;
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 100'000; ++i, ++made) {
      const auto index = static_cast<std::int64_t>(random() % kLists);
      Pair* const pair = make_pair();
      auto* const head = reinterpret_cast<Pair*>(elements(lists)[index]);
      // At the front, or behind the first, which may be old, marked, or neither.
      if (head == nullptr || i % 2 == 0) {
        pair->first = head;
        heap_->write_barrier(lists, index);
        elements(lists)[index] = ref(pair);
      } else {
        pair->first = head->first;
        heap_->write_barrier(reinterpret_cast<Object*>(head));
        head->first = pair;
      }
    }
    expect_sound();
  }
  std::size_t kept = 0;
  for (std::int64_t i = 0; i < kLists; ++i) {
    auto* pair = reinterpret_cast<Pair*>(elements(lists)[i]);
    for (; pair != nullptr && kept <= made; pair = pair->first) ++kept;  // what was lost may make a circle
  }
  EXPECT_EQ(kept, made);
  EXPECT_GE(heap_->stats().minor_pauses.count(), heap_->stats().minor_collections);
}

INSTANTIATE_TEST_SUITE_P(Threads, ParallelMark, ::testing::Values(1u, 2u, 4u));

}  // namespace
}  // namespace dhpvm::gc::testing
