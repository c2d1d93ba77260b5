// SPDX-License-Identifier: Apache-2.0
// The remembered set: old objects that were written to, and may refer to young ones.
//
// A large array of references is remembered by its cards, a kilobyte of elements each: scanning all of it for one
// changed element would make pauses grow with the array. What is remembered is a list, so that a minor collection costs
// what was written since the last one, whatever the size of the heap; and it may be scanned in parts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "gc/large_space.h"
#include "gc/marker.h"
#include "gc/object.h"

namespace dhpvm::gc {

class RememberedSet {
 public:
  struct Card {
    LargeNode* node;
    std::uint32_t index;
  };

  // The object has kUnlogged, which tells that it is not here yet. Not for arrays with cards.
  void add(Object* holder) {
    holder->header.clear(kUnlogged);
    objects_.push_back(holder);
  }
  // The cards from `first` to `last`, which is the last one itself, of an array that has cards. It keeps kUnlogged.
  void add_cards(LargeNode* node, std::size_t first, std::size_t last);

  // Lets the marker trace what was added, until nothing is left or the marker is late. True if nothing is left.
  bool scan(Marker& marker);
  // For a full collection, in which these objects are traced if and when they are reached. That they become unlogged
  // even if they are dead does no harm.
  void drop();

  // The objects that have not been scanned yet.
  template <typename Visit>
  void for_each(Visit&& visit) const {
    for (std::size_t i = next_object_; i < objects_.size(); ++i) visit(objects_[i]);
  }

 private:
  void clear();

  std::vector<Object*> objects_;
  std::vector<Card> cards_;
  std::size_t next_object_ = 0;  // of objects_: those before it have been scanned
  std::size_t next_card_ = 0;    // likewise
};

}  // namespace dhpvm::gc
