// SPDX-License-Identifier: Apache-2.0
#include "gc/growth.h"

#include <algorithm>

namespace dhpvm::gc {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;
// Collecting a heap of this size takes a millisecond or two.
constexpr std::size_t kLeast = 8 * kMiB;
// Every heap may grow by this much if its collections are expensive.
constexpr std::size_t kLeastBound = 32 * kMiB;
// A small heap may double before a full collection. A large one grows by half, which costs some more collections and
// keeps a program with 256 MiB of live objects within 400 MiB.
constexpr std::size_t kMayDouble = 128 * kMiB;
// The share of the program's time that full collections may take.
constexpr double kShare = 1.0 / 40;
// The most by which one measurement changes the estimate: another program may have had the processor.
constexpr double kMostChange = 4;

}  // namespace

std::size_t Growth::bytes(std::size_t live) const {
  const std::size_t step = live <= kMayDouble ? live : std::max(kMayDouble, live / 2);
  const std::size_t bound =
      std::max(static_cast<std::size_t>(factor_ * static_cast<double>(step)), kLeastBound);
  return std::clamp(wanted_, std::min(std::max(kLeast, live / 4), bound), bound);
}

void Growth::collected(std::size_t grown, Clock::time_point begin, Clock::time_point end) {
  const double pause = std::chrono::duration<double>(end - begin).count();
  const double between = std::max(std::chrono::duration<double>(begin - last_end_).count(), 1e-6);
  const double change = std::clamp(pause / between / kShare, 1 / kMostChange, kMostChange);
  wanted_ = static_cast<std::size_t>(static_cast<double>(grown) * change);
  last_end_ = end;
}

}  // namespace dhpvm::gc
