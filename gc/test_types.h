// SPDX-License-Identifier: Apache-2.0
// A small world for the collector's tests: a table of types and a root stack.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "gc/heap.h"

namespace dhpvm::gc::testing {

enum : TypeId {
  kPair,     // two references
  kBox,      // no reference, 8 bytes of data
  kNode,     // three references and 8 bytes of data
  kText,     // string
  kBytes,    // array of u8
  kRefs,     // array of references
  kEntries,  // array of {i64, ref, ref}
  kGrid,     // multi-dimensional array of f64
  kWeakRef,
  kHandle,  // resource
  kMedium,  // one reference and about 1 KiB of data
  kHuge,    // three references and 20 KiB of data: a large object that is no array
  kTypeCount,
};

struct Pair {
  Header header;
  Pair* first;
  Pair* second;
};
struct Box {
  Header header;
  std::uint64_t value;
};
struct Node {
  Header header;
  Ref children[3];
  std::uint64_t value;
};
struct Medium {
  Header header;
  Ref next;
  std::uint64_t data[126];
};
struct Huge {
  Header header;
  Ref children[3];
  std::uint64_t data[2560];
};
struct Entry {
  std::int64_t key;
  Ref first;
  Ref second;
};

inline constexpr std::uint16_t kPlainReference[] = {0};
inline constexpr std::uint16_t kEntryReferences[] = {8, 16};

inline constexpr std::array<TypeInfo, kTypeCount> kTypes = {
    TypeInfo{.shape = Shape::kInstance, .size = sizeof(Pair), .references = 2, .name = "Pair"},
    TypeInfo{.shape = Shape::kInstance, .size = sizeof(Box), .name = "Box"},
    TypeInfo{.shape = Shape::kInstance, .size = sizeof(Node), .references = 3, .name = "Node"},
    TypeInfo{.shape = Shape::kString, .size = sizeof(String), .name = "str"},
    TypeInfo{.shape = Shape::kArray, .size = sizeof(Array), .element_size = 1, .name = "[u8]"},
    TypeInfo{.shape = Shape::kRefArray,
             .size = sizeof(Array),
             .element_size = 8,
             .element_references = kPlainReference,
             .element_reference_count = 1,
             .name = "[Node]"},
    TypeInfo{.shape = Shape::kRefArray,
             .size = sizeof(Array),
             .element_size = sizeof(Entry),
             .element_references = kEntryReferences,
             .element_reference_count = 2,
             .name = "[Entry]"},
    TypeInfo{.shape = Shape::kArray, .size = sizeof(MultiArray), .element_size = 8, .name = "[f64, 2]"},
    TypeInfo{.shape = Shape::kWeak, .size = sizeof(Weak), .name = "Weak"},
    TypeInfo{.shape = Shape::kResource, .size = sizeof(Resource), .name = "Resource"},
    TypeInfo{.shape = Shape::kInstance, .size = sizeof(Medium), .references = 1, .name = "Medium"},
    TypeInfo{.shape = Shape::kInstance, .size = sizeof(Huge), .references = 3, .name = "Huge"},
};

// Roots are the slots of a vector, as the interpreter's reference stack would be.
struct RootStack final : RootProvider {
  std::vector<Ref> slots;
  void visit_roots(RootVisitor& visitor) override { visitor.visit_range(slots.data(), slots.size()); }
};

class HeapTest : public ::testing::Test {
 protected:
  void make_heap(const HeapOptions& options = {}) {
    heap_.reset();
    auto result = Heap::create(options, kTypes, roots_);
    ASSERT_TRUE(result.ok()) << result.error().to_string();
    heap_ = std::move(result).value();
  }

  template <typename T>
  T* make(TypeId type) {
    return reinterpret_cast<T*>(heap_->allocate(type, kTypes[type]));
  }
  Pair* make_pair(Pair* first = nullptr, Pair* second = nullptr) {
    auto* pair = make<Pair>(kPair);
    if (pair == nullptr) return nullptr;
    pair->first = first;
    pair->second = second;
    return pair;
  }
  Array* make_array(TypeId type, std::int64_t length) {
    return heap_->allocate_array(type, kTypes[type], length);
  }

  static Ref ref(void* object) { return static_cast<Ref>(object); }
  static Ref* elements(Array* array) { return reinterpret_cast<Ref*>(array->data); }

  void minor() { heap_->collect(CollectionKind::kMinor); }
  void full() { heap_->collect(CollectionKind::kFull); }
  void expect_sound() {
    const Status status = heap_->check();
    EXPECT_TRUE(status.ok()) << status.error().to_string();
  }

  RootStack roots_;
  std::unique_ptr<Heap> heap_;
};

}  // namespace dhpvm::gc::testing
