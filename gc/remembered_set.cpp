// SPDX-License-Identifier: Apache-2.0
#include "gc/remembered_set.h"

#include <algorithm>
#include <utility>

namespace dhpvm::gc {
namespace {

// Objects lie all over the heap, so their headers are fetched ahead.
constexpr std::size_t kPrefetchDistance = 16;
// Objects scanned between two looks at whether the marker is late.
constexpr std::size_t kObjectsInPart = 256;
constexpr std::size_t kCardsInPart = 32;

}  // namespace

void RememberedSet::log(Object* holder) {
  if (holder->header.has(kLarge) && LargeNode::of(holder)->cards != nullptr) {
    return log_elements(reinterpret_cast<Array*>(holder), 0, reinterpret_cast<Array*>(holder)->length);
  }
  holder->header.clear(kUnlogged);
  objects_.push_back(holder);
}

void RememberedSet::log_elements(Array* holder, std::int64_t first, std::int64_t count) {
  auto* object = reinterpret_cast<Object*>(holder);
  LargeNode* node = holder->header.has(kLarge) ? LargeNode::of(object) : nullptr;
  if (node == nullptr || node->cards == nullptr) return log(object);
  if (count <= 0) return;
  const std::size_t stride = types_[holder->header.type].element_size;
  const std::size_t first_card = static_cast<std::size_t>(first) * stride / kCardSize;
  const std::size_t last_card = (static_cast<std::size_t>(first + count) * stride - 1) / kCardSize;
  add_cards(node, first_card, last_card);
}

// Adds the cards from `first` to `last`, inclusive.
void RememberedSet::add_cards(LargeNode* node, std::size_t first, std::size_t last) {
  for (std::size_t card = first; card <= last; ++card) {
    if (std::exchange(node->cards[card], std::uint8_t{1}) == 0)
      cards_.push_back({node, static_cast<std::uint32_t>(card)});
  }
}

bool RememberedSet::scan(Marker& marker) {
  while (next_object_ < objects_.size()) {
    const std::size_t end = std::min(objects_.size(), next_object_ + kObjectsInPart);
    for (std::size_t i = next_object_; i < end; ++i) {
      if (i + kPrefetchDistance < objects_.size()) __builtin_prefetch(objects_[i + kPrefetchDistance], 1);
      objects_[i]->header.set(kUnlogged);
    }
    marker.scan({objects_.data() + next_object_, end - next_object_});
    next_object_ = end;
    if (marker.is_late()) return false;
  }
  while (next_card_ < cards_.size()) {
    const std::size_t end = std::min(cards_.size(), next_card_ + kCardsInPart);
    for (; next_card_ < end; ++next_card_) {
      const Card card = cards_[next_card_];
      card.node->cards[card.index] = 0;
      marker.scan_card(card.node, card.index);
    }
    if (marker.is_late()) return false;
  }
  clear();
  return true;
}

void RememberedSet::drop() {
  for (std::size_t i = next_object_; i < objects_.size(); ++i) {
    if (i + kPrefetchDistance < objects_.size()) __builtin_prefetch(objects_[i + kPrefetchDistance], 1);
    objects_[i]->header.set(kUnlogged);
  }
  for (std::size_t i = next_card_; i < cards_.size(); ++i) cards_[i].node->cards[cards_[i].index] = 0;
  clear();
}

void RememberedSet::clear() {
  objects_.clear();
  cards_.clear();
  next_object_ = next_card_ = 0;
}

}  // namespace dhpvm::gc
