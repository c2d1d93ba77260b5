// SPDX-License-Identifier: Apache-2.0
// Damages a heap in every way the verifier claims to notice.
#include "gc/verifier.h"

#include "gc/poison.h"
#include "gc/test_types.h"

namespace dhpvm::gc::testing {
namespace {

class VerifierTest : public HeapTest {
 protected:
  void expect_fault(std::string_view text) {
    const Status status = heap_->check();
    ASSERT_FALSE(status.ok()) << "expected: " << text;
    EXPECT_NE(status.error().message().find(text), std::string::npos) << status.error().message();
  }
};

TEST_F(VerifierTest, AcceptsAnEmptyHeap) {
  make_heap();
  expect_sound();
}

TEST_F(VerifierTest, NoticesWildReferences) {
  make_heap();
  Pair* pair = make_pair();
  roots_.slots = {ref(pair)};
  alignas(kGranule) static Pair outside{};
  pair->first = &outside;
  expect_fault("no object of this heap");
  pair->first = reinterpret_cast<Pair*>(reinterpret_cast<std::byte*>(pair) + kGranule / 2);
  expect_fault("not aligned");
  pair->first = reinterpret_cast<Pair*>(reinterpret_cast<std::byte*>(pair) + (std::size_t{1} << 30));
  expect_fault("free block");
  pair->first = reinterpret_cast<Pair*>(reinterpret_cast<std::byte*>(pair) + 32);
  expect_fault("not yet allocated");
}

TEST_F(VerifierTest, NoticesDamagedHeaders) {
  make_heap();
  Pair* pair = make_pair();
  roots_.slots = {ref(pair)};
  const Header sound = pair->header;
  pair->header.type = kTypeCount;
  expect_fault("does not exist");
  pair->header = sound;
  pair->header.size_and_flags = 4;
  expect_fault("whose header says");
  pair->header.size_and_flags = 0;
  expect_fault("size is zero");
  pair->header.size_and_flags = 1 << 20;
  expect_fault("crosses the end");
  pair->header = sound;
  pair->header.set(kLarge);
  expect_fault("kLarge");
  pair->header = sound;
  pair->header.set(kImmortal);
  expect_fault("kImmortal");
  pair->header = sound;
  expect_sound();
}

TEST_F(VerifierTest, NoticesDamagedArraysAndStrings) {
  make_heap();
  Array* array = make_array(kRefs, 10);
  String* string = heap_->allocate_string(kText, 10);
  roots_.slots = {ref(array), ref(string)};
  array->length = -1;
  expect_fault("negative length");
  array->length = 9;
  expect_fault("above its length");
  array->length = 10;
  array->data += 8;
  expect_fault("elements elsewhere");
  array->data -= 8;
  string->size = 100;
  expect_fault("whose header says");
  string->size = 10;
  expect_sound();
}

TEST_F(VerifierTest, NoticesOverlaps) {
  make_heap();
  Array* array = make_array(kBytes, 64);
  // Something that looks like an object among the elements.
  auto* inner = reinterpret_cast<Box*>(array->data);
  inner->header = Header{kBox, sizeof(Box) / kGranule};
  roots_.slots = {ref(array), ref(inner)};
  expect_fault("overlaps");
}

// A root that the owner of the heap forgets to report: the freed object is noticed when it is used again.
TEST_F(VerifierTest, NoticesFreedObjects) {
  make_heap({.verify = true});
  Pair* kept = make_pair();
  Pair* forgotten = make_pair();
  make_pair();
  roots_.slots = {ref(kept)};
  minor();
  if constexpr (kPoisoning) {
    // AddressSanitizer reports the very first use.
    EXPECT_DEATH(static_cast<void>(*const_cast<volatile TypeId*>(&forgotten->header.type)),
                 "use-after-poison");
    return;
  }
  EXPECT_EQ(forgotten->header.type, 0xDBDBDBDBu);
  roots_.slots.push_back(ref(forgotten));
  expect_fault("does not exist");
  roots_.slots.pop_back();
}

}  // namespace
}  // namespace dhpvm::gc::testing
