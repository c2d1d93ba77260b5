// SPDX-License-Identifier: Apache-2.0
// The remembered set: old objects that were written to, and may refer to young ones.
//
// A large array of references is remembered by its cards, a kilobyte of elements each: scanning all of it for one
// changed element would make pauses grow with the array. The set is a list, so that the cost of a minor collection
// depends on the writes since the last one, not on the size of the heap; and it can be scanned in parts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gc/large_space.h"
#include "gc/layout.h"
#include "gc/marker.h"
#include "gc/object.h"

namespace dhpvm::gc {

class RememberedSet {
 public:
  struct Card {
    LargeNode* node;
    std::uint32_t index;
  };

  // `types` describes the objects by their type ids, and must outlive the set.
  explicit RememberedSet(std::span<const TypeInfo> types) : types_(types) {}

  // Adds an object that has kUnlogged, which means that it is not in the set yet.
  void log(Object* holder);
  // For an array of which only `count` elements from `first` on were written. Scanning a large array again for one
  // changed element would make minor pauses grow with the array: it keeps kUnlogged, and its cards remember which
  // kilobytes changed.
  void log_elements(Array* holder, std::int64_t first, std::int64_t count);

  // Lets the marker trace the set until nothing is left or the marker is late. True if nothing is left.
  bool scan(Marker& marker);
  // For a full collection, in which these objects are traced if and when they are reached. Dead ones become unlogged
  // too, which does no harm.
  void drop();

  // The objects that have not been scanned yet.
  template <typename Visit>
  void for_each(Visit&& visit) const {
    for (std::size_t i = next_object_; i < objects_.size(); ++i) visit(objects_[i]);
  }

 private:
  void add_cards(LargeNode* node, std::size_t first, std::size_t last);
  void clear();

  const std::span<const TypeInfo> types_;
  std::vector<Object*> objects_;
  std::vector<Card> cards_;
  std::size_t next_object_ = 0;  // objects_ before this one have been scanned
  std::size_t next_card_ = 0;    // likewise
};

}  // namespace dhpvm::gc
