// SPDX-License-Identifier: Apache-2.0
#include "vm/api/c/handles.h"

#include <array>
#include <atomic>
#include <mutex>
#include <new>

namespace dhpvm::c {
namespace {

// The bits of a handle, from the lowest: 1, which no pointer to a structure has; the kind; the slot; and the round, the
// number of times that the slot was given out. 47 bits in all, as many as a pointer of a process has: some languages
// store no larger ones.
constexpr unsigned kKindShift = 1;
constexpr unsigned kSlotShift = 4;
constexpr unsigned kSlotBits = 24;
constexpr unsigned kRoundShift = kSlotShift + kSlotBits;
constexpr std::uint32_t kLastRound = (1u << (47 - kRoundShift)) - 1;

constexpr std::size_t kSlotsPerChunk = 4096;
constexpr std::size_t kChunks = (std::size_t{1} << kSlotBits) / kSlotsPerChunk;
constexpr std::uint32_t kNoSlot = ~0u;

struct Slot {
  std::atomic<std::uintptr_t> handle{0};  // 0: free
  std::atomic<void*> object{nullptr};
  std::uint32_t round = 0;
  std::uint32_t next_free = kNoSlot;
};
using Chunk = std::array<Slot, kSlotsPerChunk>;

// Chunks are never freed, so that a lookup needs no lock.
struct HandleTable {
  std::array<std::atomic<Chunk*>, kChunks> chunks{};
  std::mutex mutex;  // guards the members below, and rounds and free lists of slots
  std::uint32_t first_free = kNoSlot;
  std::uint32_t used = 0;  // slots that were given out at least once
  std::size_t live = 0;
};

constinit HandleTable table;

Slot* slot_at(std::uint32_t index) {
  Chunk* const chunk = table.chunks[index / kSlotsPerChunk].load(std::memory_order_acquire);
  return chunk == nullptr ? nullptr : &(*chunk)[index % kSlotsPerChunk];
}

std::uint32_t index_of(std::uintptr_t handle) {
  return static_cast<std::uint32_t>(handle >> kSlotShift) & ((1u << kSlotBits) - 1);
}

bool is_of_kind(std::uintptr_t handle, HandleKind kind) {
  constexpr std::uintptr_t kMask = (1u << kSlotShift) - 1;
  return (handle & kMask) == (static_cast<std::uintptr_t>(kind) << kKindShift | 1);
}

// A free slot, or kNoSlot. With the mutex held.
std::uint32_t take_slot() {
  if (table.first_free != kNoSlot) {
    const std::uint32_t index = table.first_free;
    table.first_free = slot_at(index)->next_free;
    return index;
  }
  if (table.used == kChunks * kSlotsPerChunk) return kNoSlot;
  std::atomic<Chunk*>& chunk = table.chunks[table.used / kSlotsPerChunk];
  if (chunk.load(std::memory_order_relaxed) == nullptr) {
    auto* const made = new (std::nothrow) Chunk;
    if (made == nullptr) return kNoSlot;
    chunk.store(made, std::memory_order_release);
  }
  return table.used++;
}

}  // namespace

std::uintptr_t add_handle(HandleKind kind, void* object) {
  const std::lock_guard lock(table.mutex);
  const std::uint32_t index = take_slot();
  if (index == kNoSlot) return 0;
  Slot& slot = *slot_at(index);
  const std::uintptr_t handle = static_cast<std::uintptr_t>(slot.round) << kRoundShift |
                                static_cast<std::uintptr_t>(index) << kSlotShift |
                                static_cast<std::uintptr_t>(kind) << kKindShift | 1;
  slot.object.store(object, std::memory_order_relaxed);
  slot.handle.store(handle, std::memory_order_release);
  ++table.live;
  return handle;
}

void* find_handle(std::uintptr_t handle, HandleKind kind) {
  if (!is_of_kind(handle, kind)) return nullptr;
  const Slot* const slot = slot_at(index_of(handle));
  if (slot == nullptr || slot->handle.load(std::memory_order_acquire) != handle) return nullptr;
  return slot->object.load(std::memory_order_relaxed);
}

void* remove_handle(std::uintptr_t handle, HandleKind kind) {
  const std::lock_guard lock(table.mutex);
  void* const object = find_handle(handle, kind);
  if (object == nullptr) return nullptr;
  const std::uint32_t index = index_of(handle);
  Slot& slot = *slot_at(index);
  slot.handle.store(0, std::memory_order_release);
  slot.object.store(nullptr, std::memory_order_relaxed);
  --table.live;
  // A slot that has used up its rounds is never given out again, so that no handle occurs twice.
  if (slot.round++ < kLastRound) {
    slot.next_free = table.first_free;
    table.first_free = index;
  }
  return object;
}

std::size_t live_handles() {
  const std::lock_guard lock(table.mutex);
  return table.live;
}

}  // namespace dhpvm::c
