// SPDX-License-Identifier: Apache-2.0
#include "gc/heap.h"

#include <cstring>
#include <string>

#include "gc/test_types.h"

namespace dhpvm::gc::testing {
namespace {

using HeapAllocation = HeapTest;

TEST_F(HeapAllocation, GivesZeroedObjectsWithAHeader) {
  make_heap();
  auto* node = make<Node>(kNode);
  ASSERT_NE(node, nullptr);
  EXPECT_EQ(node->header.type, kNode);
  EXPECT_EQ(node->header.granules(), 3u);
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
  EXPECT_EQ(heap_->stats().live_bytes, 100'000 * 32u);
  roots_.slots.clear();
  minor();
  EXPECT_EQ(heap_->stats().live_bytes, 100'000 * 32u);
  full();
  EXPECT_EQ(heap_->stats().live_bytes, 0u);
  EXPECT_EQ(heap_->stats().block_bytes, 0u);
}

}  // namespace
}  // namespace dhpvm::gc::testing
