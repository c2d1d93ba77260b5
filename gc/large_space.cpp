// SPDX-License-Identifier: Apache-2.0
#include "gc/large_space.h"

#include <cstdlib>
#include <cstring>

#include "gc/poison.h"

#ifndef DHPVM_GC_ASAN
#include <mimalloc.h>
#endif

namespace dhpvm::gc {
namespace {

// Under AddressSanitizer the system's malloc, for its red zones.
#ifdef DHPVM_GC_ASAN
void* allocate_memory(std::size_t bytes, bool zeroed) {
  return zeroed ? std::calloc(1, bytes) : std::malloc(bytes);
}
void free_memory(void* memory) { std::free(memory); }
void return_memory() {}
#else
void* allocate_memory(std::size_t bytes, bool zeroed) { return zeroed ? mi_zalloc(bytes) : mi_malloc(bytes); }
void free_memory(void* memory) { mi_free(memory); }
void return_memory() { mi_collect(true); }
#endif

std::size_t card_count(std::size_t card_bytes) { return (card_bytes + kCardSize - 1) / kCardSize; }

}  // namespace

LargeSpace::~LargeSpace() {
  for (LargeNode* node : young_) free_memory(node);
  for (LargeNode* node : old_) free_memory(node);
}

std::size_t LargeSpace::footprint(std::size_t size, std::size_t card_bytes) {
  return sizeof(LargeNode) + size + card_count(card_bytes);
}

Object* LargeSpace::allocate(std::size_t size, std::size_t card_bytes, bool zeroed) {
  const std::size_t bytes = footprint(size, card_bytes);
  void* memory = allocate_memory(bytes, zeroed);
  if (memory == nullptr) return nullptr;
  auto* node = static_cast<LargeNode*>(memory);
  *node = LargeNode{.size = size, .cards = nullptr, .card_count = 0, .marked = false, .young = true};
  if (card_bytes != 0) {
    // The cards lie behind the object, so that they need no allocation of their own.
    node->cards = reinterpret_cast<std::uint8_t*>(node->object()) + size;
    node->card_count = static_cast<std::uint32_t>(card_count(card_bytes));
    std::memset(node->cards, 0, node->card_count);
  }
  young_.push_back(node);
  bytes_ += bytes;
  return node->object();
}

void LargeSpace::release_empty() { return_memory(); }

void LargeSpace::clear_marks() {
  for (const std::vector<LargeNode*>* list : {&old_, &young_}) {
    for (LargeNode* node : *list) node->marked = false;
  }
}

void LargeSpace::release(LargeNode* node, bool scribble) {
  const std::size_t bytes = footprint(node->size, std::size_t{node->card_count} * kCardSize);
  bytes_ -= bytes;
  if (scribble) std::memset(node, 0xDB, bytes);
  free_memory(node);
}

void LargeSpace::sweep_young(bool scribble) {
  for (LargeNode* node : young_) {
    if (node->marked) {
      node->young = false;
      old_.push_back(node);
    } else {
      release(node, scribble);
    }
  }
  young_.clear();
}

void LargeSpace::sweep_all(bool scribble) {
  std::size_t kept = 0;
  for (LargeNode* node : old_) {
    if (node->marked) {
      old_[kept++] = node;
    } else {
      release(node, scribble);
    }
  }
  old_.resize(kept);
  sweep_young(scribble);
}

}  // namespace dhpvm::gc
