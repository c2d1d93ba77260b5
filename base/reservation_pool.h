// SPDX-License-Identifier: Apache-2.0
// A pool of reserved address space. The system takes several microseconds to make or end a mapping, which is most of
// the cost of a small isolate.
#pragma once

#include <cstddef>
#include <mutex>
#include <vector>

#include "base/reservation.h"

namespace dhpvm {

// Thread-safe.
class ReservationPool {
 public:
  // A reservation of this size in bytes that was given back, or a new one. All bytes are zero. Empty if the system
  // refuses.
  Reservation take(std::size_t bytes, std::size_t alignment);
  // The caller has zeroed all bytes again, and left few pages resident, because resident pages stay so in the pool.
  void give_back(Reservation reservation);

 private:
  std::mutex mutex_;
  std::vector<Reservation> idle_;
};

// The same for callers that may have no pool: a null `pool` maps and unmaps through the system.
Reservation take_reservation(ReservationPool* pool, std::size_t bytes, std::size_t alignment);
void give_back_reservation(ReservationPool* pool, Reservation reservation);

}  // namespace dhpvm
