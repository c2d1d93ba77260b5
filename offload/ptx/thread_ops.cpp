// SPDX-License-Identifier: Apache-2.0
// Threads of a warp that tell each other something.
#include <fmt/format.h>

#include "offload/ptx/lane_values.h"

namespace dhpvm::ptx {
namespace {

void nothing(Warp& /*warp*/, const Op& /*op*/, LaneMask /*mask*/) {}

void active_mask(Warp& warp, const Op& op, LaneMask mask) {
  Lanes& to = warp.to(op.to[0]);
  each_lane(mask, [&](unsigned l) { to.v[l] = mask; });
}

void vote(Warp& warp, const Op& op, LaneMask mask) {
  const auto named =
      static_cast<LaneMask>(warp.from(op.from[4]).v[static_cast<unsigned>(std::countr_zero(mask))]) & mask;
  const LaneMask value = warp.predicate(op.from[0]) ^ (op.has(FlagBit::kNegated) ? kAllLanes : 0);
  const LaneMask yes = value & named;
  if (mode_of(op) == Mode::kBallot) {
    Lanes& to = warp.to(op.to[0]);
    each_lane(mask, [&](unsigned l) { to.v[l] = yes; });
    return;
  }
  const bool all = yes == named;
  const bool holds = mode_of(op) == Mode::kAll ? all : mode_of(op) == Mode::kAny ? yes != 0 : all || yes == 0;
  warp.set_predicate(op.to[0], holds ? kAllLanes : 0, mask);
}

void shuffle(Warp& warp, const Op& op, LaneMask mask) {
  const Lanes source = warp.from(op.from[0]);
  Lanes& to = warp.to(op.to[0]);
  LaneMask in_range = 0;
  each_lane(mask, [&](unsigned l) {
    const auto b = static_cast<std::uint32_t>(warp.from(op.from[1]).v[l]) & 31;
    const auto c = static_cast<std::uint32_t>(warp.from(op.from[2]).v[l]);
    const std::uint32_t segment = c >> 8 & 31;
    const std::uint32_t last = (l & segment) | (c & 31 & ~segment);
    std::uint32_t j = 0;
    bool valid = false;
    switch (mode_of(op)) {
      case Mode::kUp:
        j = l - b;
        valid =
            static_cast<std::int32_t>(l) - static_cast<std::int32_t>(b) >= static_cast<std::int32_t>(last);
        break;
      case Mode::kDown:
        j = l + b;
        valid = j <= last;
        break;
      case Mode::kBfly:
        j = l ^ b;
        valid = j <= last;
        break;
      default:
        j = (l & segment) | (b & ~segment);
        valid = j <= last;
        break;
    }
    if (!valid) j = l;
    if (valid) in_range |= 1U << l;
    if (!is_in(mask, j & 31))
      warp.fail(FaultKind::kBarrier, op, l,
                fmt::format("takes the value of lane {}, which is not here", j & 31));
    to.v[l] = source.v[j & 31] & 0xffffffff;
  });
  warp.set_predicate(op.to[1], in_range, mask);
}

}  // namespace

Execute select_threads(std::string_view name, const Op& op) {
  if (name == "activemask") return active_mask;
  if (name == "vote") return mode_of(op) >= Mode::kAll && mode_of(op) <= Mode::kBallot ? vote : nullptr;
  if (name == "shfl") return mode_of(op) >= Mode::kUp && mode_of(op) <= Mode::kIdx ? shuffle : nullptr;
  return nothing;
}

}  // namespace dhpvm::ptx
