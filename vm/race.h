// SPDX-License-Identifier: Apache-2.0
// Finds iterations of a parallel loop that touch the same array element in a way that depends on their order.
//
// Iterations run one after the other here, so remembering for each element who wrote, read and atomically
// updated it is enough to find every conflict of the run: nothing depends on timing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>

#include "bytecode/isa.h"

namespace dhpvm::vm {

enum class Access : std::uint8_t { kRead, kWrite, kAtomic };

class RaceDetector {
 public:
  // One earlier access in the loop.
  struct Event {
    std::uint64_t iteration;
    const bytecode::Word* pc;
    Access access;
  };

  // Forgets everything, because a loop begins or has ended.
  void clear() { elements_.clear(); }

  // Notes that `iteration` accesses the value at `address`. Returns the earlier access of another
  // iteration that this one conflicts with, if any: reads do not conflict with reads, nor atomic updates
  // with atomic updates.
  std::optional<Event> note(const void* address, std::uint64_t iteration, Access access,
                            const bytecode::Word* pc);

 private:
  // Two readers and two updaters of different iterations are enough: one of them differs from any later iteration.
  struct Who {
    std::uint64_t iteration;
    const bytecode::Word* pc = nullptr;  // null: empty
  };
  struct Element {
    Who writer;
    Who readers[2];
    Who updaters[2];
  };
  static void remember(Who (&slots)[2], std::uint64_t iteration, const bytecode::Word* pc);

  std::unordered_map<const void*, Element> elements_;
};

}  // namespace dhpvm::vm
