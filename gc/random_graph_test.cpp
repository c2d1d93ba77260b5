// SPDX-License-Identifier: Apache-2.0
// Random programs against a model: a graph of ids in ordinary containers. Objects that the model can reach must
// be in the heap with the same contents; those that it cannot reach must be gone after a full collection.
#include <map>
#include <random>
#include <set>
#include <vector>

#include "base/test_effort.h"
#include "gc/test_types.h"

namespace dhpvm::gc::testing {
namespace {

using Id = std::uint64_t;

struct ModelObject {
  TypeId type;
  std::vector<Id> children;  // 0: null
};

struct Parameters {
  const char* name;
  HeapOptions options;
  unsigned steps;
  unsigned seed;
};

class RandomGraph : public HeapTest, public ::testing::WithParamInterface<Parameters> {
 protected:
  static constexpr std::size_t kSlots = 64;

  std::mt19937 random_;
  Id next_id_ = 1;
  std::map<Id, ModelObject> model_;
  std::vector<Id> root_ids_ = std::vector<Id>(kSlots);
  std::vector<Id> weak_targets_ = std::vector<Id>(kSlots);  // roots_.slots[kSlots + i] is a Weak or null
  std::set<Id> watched_;
  std::set<Id> cleaned_;
  std::vector<std::unique_ptr<std::pair<RandomGraph*, Id>>> contexts_;  // of the cleaners

  std::size_t pick() { return random_() % kSlots; }

  // The slots of an object's references; empty for leaves.
  static std::vector<Ref*> slots_of(Object* object) {
    std::vector<Ref*> slots;
    const TypeInfo& type = kTypes[object->header.type];
    if (type.shape == Shape::kInstance) {
      for (std::uint32_t i = 0; i < type.references; ++i)
        slots.push_back(reinterpret_cast<Ref*>(object + 1) + i);
    } else if (type.shape == Shape::kRefArray) {
      auto* array = reinterpret_cast<Array*>(object);
      for (std::int64_t i = 0; array->data != nullptr && i < array->length; ++i) {
        for (std::uint32_t j = 0; j < type.element_reference_count; ++j) {
          slots.push_back(
              reinterpret_cast<Ref*>(array->data + i * type.element_size + type.element_references[j]));
        }
      }
    }
    return slots;
  }

  // Every object holds its id somewhere.
  static Id* id_of(Object* object) {
    switch (object->header.type) {
      case kBox: return &reinterpret_cast<Box*>(object)->value;
      case kNode: return &reinterpret_cast<Node*>(object)->value;
      case kMedium: return &reinterpret_cast<Medium*>(object)->data[125];
      case kHuge: return &reinterpret_cast<Huge*>(object)->data[2559];
      case kBytes: return reinterpret_cast<Id*>(reinterpret_cast<Array*>(object)->data);
      case kText: return reinterpret_cast<Id*>(reinterpret_cast<String*>(object)->bytes());
      default: return nullptr;
    }
  }

  Object* allocate(TypeId type) {
    const std::int64_t length = random_() % 20 == 0 ? random_() % 3000 : random_() % 30;
    switch (kTypes[type].shape) {
      case Shape::kString:
        return reinterpret_cast<Object*>(heap_->allocate_string(type, 8 + random_() % 400));
      case Shape::kArray:
      case Shape::kRefArray: return reinterpret_cast<Object*>(make_array(type, length + 8));
      default: return make<Object>(type);
    }
  }

  static bool has_references(TypeId type) {
    return kTypes[type].shape == Shape::kRefArray || kTypes[type].references != 0;
  }

  void step_allocate() {
    static constexpr TypeId kChoices[] = {kPair,  kPair, kBox,     kNode,   kNode, kText,
                                          kBytes, kRefs, kEntries, kMedium, kHuge};
    const TypeId type = kChoices[random_() % std::size(kChoices)];
    Object* object = allocate(type);
    if (object == nullptr) {  // the limit: drop half of the roots and go on
      for (std::size_t i = 0; i < kSlots; i += 2) set_root(i, nullptr, 0);
      return;
    }
    const Id id = next_id_++;
    if (Id* place = id_of(object)) *place = id;
    ModelObject entry{type, {}};
    // A new object's fields are stored without a barrier.
    for (Ref* slot : slots_of(object)) {
      const std::size_t source = pick();
      *slot = random_() % 3 == 0 ? roots_.slots[source] : nullptr;
      entry.children.push_back(*slot == nullptr ? 0 : root_ids_[source]);
    }
    model_[id] = std::move(entry);
    if (random_() % 8 == 0) {
      watched_.insert(id);
      contexts_.push_back(std::make_unique<std::pair<RandomGraph*, Id>>(this, id));
      heap_->add_cleaner(
          object,
          [](Object*, void* context) {
            auto& [test, watched_id] = *static_cast<std::pair<RandomGraph*, Id>*>(context);
            EXPECT_TRUE(test->cleaned_.insert(watched_id).second) << "a cleaner ran twice";
          },
          contexts_.back().get());
    }
    set_root(pick(), object, id);
  }
  void set_root(std::size_t slot, Object* object, Id id) {
    roots_.slots[slot] = object;
    root_ids_[slot] = id;
  }

  // Stores a root into a field of an object found by walking from another root.
  void step_store() {
    std::size_t slot = pick();
    Object* holder = roots_.slots[slot];
    Id id = root_ids_[slot];
    for (int depth = static_cast<int>(random_() % 6); holder != nullptr && depth > 0; --depth) {
      const std::vector<Ref*> slots = slots_of(holder);
      if (slots.empty()) break;
      const std::size_t index = random_() % slots.size();
      if (*slots[index] == nullptr) continue;
      id = model_.at(id).children[index];
      holder = *slots[index];
    }
    if (holder == nullptr || !has_references(holder->header.type)) return;
    const std::vector<Ref*> slots = slots_of(holder);
    if (slots.empty()) return;
    const std::size_t index = random_() % slots.size();
    const std::size_t source = pick();
    const TypeInfo& type = kTypes[holder->header.type];
    if (type.shape == Shape::kRefArray) {
      heap_->write_barrier(reinterpret_cast<Array*>(holder),
                           static_cast<std::int64_t>(index / type.element_reference_count));
    } else {
      heap_->write_barrier(holder);
    }
    *slots[index] = roots_.slots[source];
    model_.at(id).children[index] = root_ids_[source];
  }

  // Moves a child of a root into a root slot, so that the graph is not only shallow.
  void step_load() {
    const std::size_t slot = pick();
    Object* holder = roots_.slots[slot];
    if (holder == nullptr) return;
    const std::vector<Ref*> slots = slots_of(holder);
    if (slots.empty()) return;
    const std::size_t index = random_() % slots.size();
    set_root(pick(), *slots[index], model_.at(root_ids_[slot]).children[index]);
  }

  // As the program closes an array.
  void step_close() {
    const std::size_t slot = pick();
    Object* object = roots_.slots[slot];
    if (object == nullptr || kTypes[object->header.type].shape != Shape::kRefArray) return;
    auto* array = reinterpret_cast<Array*>(object);
    array->data = nullptr;
    array->readable = array->writable = 0;
    model_.at(root_ids_[slot]).children.clear();
  }

  void step_weak() {
    const std::size_t slot = pick();
    const std::size_t source = pick();
    if (roots_.slots[source] == nullptr) return;
    roots_.slots[kSlots + slot] = ref(heap_->allocate_weak(kWeakRef, roots_.slots[source]));
    weak_targets_[slot] = root_ids_[source];
  }

  // Walks model and heap side by side.
  std::map<Object*, Id> reachable() {
    std::map<Object*, Id> found;
    std::vector<std::pair<Object*, Id>> work;
    const auto reach = [&](Object* object, Id id) {
      ASSERT_EQ(object == nullptr, id == 0);
      if (object == nullptr) return;
      const auto [place, inserted] = found.emplace(object, id);
      ASSERT_EQ(place->second, id) << "one address for two objects";
      if (inserted) work.emplace_back(object, id);
    };
    for (std::size_t i = 0; i < kSlots; ++i) reach(roots_.slots[i], root_ids_[i]);
    while (!work.empty() && !HasFatalFailure()) {
      const auto [object, id] = work.back();
      work.pop_back();
      const ModelObject& expected = model_.at(id);
      EXPECT_EQ(object->header.type, expected.type);
      if (const Id* place = id_of(object); place != nullptr) {
        EXPECT_EQ(*place, id);
      }
      const std::vector<Ref*> slots = slots_of(object);
      EXPECT_EQ(slots.size(), expected.children.size());
      if (HasNonfatalFailure()) break;
      for (std::size_t i = 0; i < slots.size(); ++i) reach(*slots[i], expected.children[i]);
    }
    return found;
  }

  void compare(bool after_full) {
    const std::map<Object*, Id> found = reachable();
    std::set<Id> alive;
    for (const auto& [object, id] : found) alive.insert(id);
    for (const Id id : cleaned_) ASSERT_FALSE(alive.contains(id)) << "the cleaner of a living object ran";
    if (after_full) {
      for (const Id id : watched_)
        ASSERT_TRUE(alive.contains(id) || cleaned_.contains(id)) << "a cleaner did not run";
    }
    for (std::size_t i = 0; i < kSlots; ++i) {
      const auto* weak = reinterpret_cast<Weak*>(roots_.slots[kSlots + i]);
      if (weak == nullptr) continue;
      if (alive.contains(weak_targets_[i])) {
        ASSERT_NE(weak->target, nullptr);
        ASSERT_EQ(found.at(weak->target), weak_targets_[i]);
      } else if (after_full) {
        ASSERT_EQ(weak->target, nullptr);
      }
    }
    if (after_full) {  // the model forgets what is gone
      std::erase_if(model_, [&](const auto& entry) { return !alive.contains(entry.first); });
    }
    expect_sound();
  }
};

TEST_P(RandomGraph, AgreesWithTheModel) {
  make_heap(GetParam().options);
  random_.seed(GetParam().seed);
  roots_.slots.assign(2 * kSlots, nullptr);
  for (unsigned step = 0; step < test_effort(GetParam().steps) && !HasFatalFailure(); ++step) {
    const auto choice = random_() % 100;
    if (choice < 40) {
      step_allocate();
    } else if (choice < 65) {
      step_store();
    } else if (choice < 85) {
      step_load();
    } else if (choice < 90) {
      step_weak();
    } else if (choice < 98) {
      set_root(pick(), nullptr, 0);
    } else if (choice == 98) {
      step_close();
    } else if (step % 4 == 0) {
      minor();
    }
    if (step % 500 == 499) {
      compare(false);
      full();
      compare(true);
    }
  }
  heap_.reset();
  EXPECT_EQ(cleaned_, watched_);
}

constexpr std::size_t kKiB = 1024;
INSTANTIATE_TEST_SUITE_P(
    Heaps, RandomGraph,
    ::testing::Values(
        Parameters{"Default", {}, 20'000, 1},
        Parameters{"SmallNursery", {.nursery_bytes = 64 * kKiB, .verify = true}, 10'000, 2},
        Parameters{"Limit", {.limit_bytes = 1024 * kKiB, .verify = true}, 8'000, 3},
        Parameters{"StressEvery", {.stress = 1}, 5'000, 4},
        Parameters{"StressVerified", {.stress = 3, .verify = true}, 3'000, 5},
        Parameters{"StressSeldom", {.nursery_bytes = 64 * kKiB, .stress = 40, .verify = true}, 10'000, 7},
        Parameters{"StressLimit", {.limit_bytes = 1024 * kKiB, .stress = 7, .verify = true}, 5'000, 8},
        Parameters{"StressTinyMarkStack", {.stress = 5, .verify = true, .mark_stack_bytes = 4096}, 5'000, 9},
        Parameters{"TinyMarkStack", {.nursery_bytes = 64 * kKiB, .mark_stack_bytes = 4096}, 10'000, 6}),
    [](const auto& instance) { return std::string(instance.param.name); });

}  // namespace
}  // namespace dhpvm::gc::testing
