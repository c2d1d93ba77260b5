// SPDX-License-Identifier: Apache-2.0
#include "base/reservation_pool.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace dhpvm {
namespace {

// The idle reservations that are kept. An isolate has five, so these are enough for a dozen isolates: for programs that
// make isolates one after the other on several threads. Programs that made many isolates once keep little address
// space.
constexpr std::size_t kMostIdle = 64;

bool fits(const Reservation& reservation, std::size_t bytes, std::size_t alignment) {
  return reservation.size() == bytes &&
         (reinterpret_cast<std::uintptr_t>(reservation.data()) & (alignment - 1)) == 0;
}

}  // namespace

Reservation ReservationPool::take(std::size_t bytes, std::size_t alignment) {
  {
    const std::lock_guard lock(mutex_);
    // The last one first: its pages are still in the processor's cache.
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
  // The address space may be limited: release the idle reservations, and try again.
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
