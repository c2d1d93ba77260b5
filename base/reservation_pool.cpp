// SPDX-License-Identifier: Apache-2.0
#include "base/reservation_pool.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace dhpvm {
namespace {

// Idle reservations that are kept. An isolate has five, so this is what a dozen of them need: enough for programs that
// make isolates one after the other on several threads, and little address space for those that made many once.
constexpr std::size_t kMostIdle = 64;

bool fits(const Reservation& reservation, std::size_t bytes, std::size_t alignment) {
  return reservation.size() == bytes &&
         (reinterpret_cast<std::uintptr_t>(reservation.data()) & (alignment - 1)) == 0;
}

}  // namespace

Reservation ReservationPool::take(std::size_t bytes, std::size_t alignment) {
  {
    const std::lock_guard lock(mutex_);
    // The last one first: its pages are in the cache.
    const auto found = std::find_if(idle_.rbegin(), idle_.rend(), [&](const Reservation& reservation) {
      return fits(reservation, bytes, alignment);
    });
    if (found != idle_.rend()) {
      Reservation taken = std::move(*found);
      idle_.erase(std::next(found).base());
      return taken;
    }
  }
  Reservation made(bytes, alignment);
  if (made.data() != nullptr) return made;
  // The address space may be limited, and the idle ones hold what is missing.
  std::vector<Reservation> dropped;
  {
    const std::lock_guard lock(mutex_);
    dropped.swap(idle_);
  }
  if (dropped.empty()) return made;
  dropped.clear();
  return Reservation(bytes, alignment);
}

void ReservationPool::give_back(Reservation reservation) {
  if (reservation.data() == nullptr) return;
  const std::lock_guard lock(mutex_);
  if (idle_.size() < kMostIdle) idle_.push_back(std::move(reservation));
}

Reservation take_reservation(ReservationPool* pool, std::size_t bytes, std::size_t alignment) {
  return pool == nullptr ? Reservation(bytes, alignment) : pool->take(bytes, alignment);
}

void give_back_reservation(ReservationPool* pool, Reservation reservation) {
  if (pool != nullptr) pool->give_back(std::move(reservation));
}

}  // namespace dhpvm
