// SPDX-License-Identifier: Apache-2.0
#include "vm/race.h"

namespace dhpvm::vm {

void RaceDetector::remember(Who (&slots)[2], std::uint64_t iteration, const bytecode::Word* pc) {
  for (Who& who : slots) {
    if (who.pc != nullptr && who.iteration == iteration) return;
    if (who.pc == nullptr) {
      who = {iteration, pc};
      return;
    }
  }
}

std::optional<RaceDetector::Event> RaceDetector::note(const void* address, std::uint64_t iteration,
                                                      Access access, const bytecode::Word* pc) {
  Element& element = elements_[address];
  const auto other = [&](const Who& who) { return who.pc != nullptr && who.iteration != iteration; };
  if (other(element.writer)) return Event{element.writer.iteration, element.writer.pc, Access::kWrite};
  for (const Who& who : element.readers) {
    if (access != Access::kRead && other(who)) return Event{who.iteration, who.pc, Access::kRead};
  }
  for (const Who& who : element.updaters) {
    if (access != Access::kAtomic && other(who)) return Event{who.iteration, who.pc, Access::kAtomic};
  }
  switch (access) {
    case Access::kRead: remember(element.readers, iteration, pc); break;
    case Access::kWrite: element.writer = {iteration, pc}; break;
    case Access::kAtomic: remember(element.updaters, iteration, pc); break;
  }
  return std::nullopt;
}

}  // namespace dhpvm::vm
