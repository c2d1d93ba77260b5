// SPDX-License-Identifier: Apache-2.0
// Operations that exchange values between the threads of a warp.
#include <fmt/format.h>

#include <algorithm>

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

// For each thread, the threads with the same value.
void match(Warp& warp, const Op& op, LaneMask mask) {
  const auto named =
      static_cast<LaneMask>(warp.from(op.from[4]).v[static_cast<unsigned>(std::countr_zero(mask))]) & mask;
  const Lanes value = warp.from(op.from[0]);
  Lanes& to = warp.to(op.to[0]);
  LaneMask all_same = 0;
  each_lane(mask, [&](unsigned l) {
    LaneMask same = 0;
    for (LaneMask rest = named; rest != 0; rest &= rest - 1) {
      const auto other = static_cast<unsigned>(std::countr_zero(rest));
      if (value.v[other] == value.v[l]) same |= 1U << other;
    }
    const bool all = same == named;
    if (all) all_same |= 1U << l;
    to.v[l] = mode_of(op) == Mode::kAny || all ? same : 0;
  });
  warp.set_predicate(op.to[1], all_same, mask);
}

template <typename T>
void reduce(Warp& warp, const Op& op, LaneMask mask) {
  const auto named =
      static_cast<LaneMask>(warp.from(op.from[4]).v[static_cast<unsigned>(std::countr_zero(mask))]) & mask;
  const Lanes& value = warp.from(op.from[0]);
  auto result = value_of<T>(value.v[static_cast<unsigned>(std::countr_zero(named))]);
  for (LaneMask rest = named & (named - 1); rest != 0; rest &= rest - 1) {
    const auto next = value_of<T>(value.v[static_cast<unsigned>(std::countr_zero(rest))]);
    switch (mode_of(op)) {
      case Mode::kAdd:
        result = static_cast<T>(static_cast<std::uint32_t>(result) + static_cast<std::uint32_t>(next));
        break;
      case Mode::kMin: result = std::min(result, next); break;
      case Mode::kMax: result = std::max(result, next); break;
      case Mode::kAnd: result &= next; break;
      case Mode::kOr: result |= next; break;
      default: result ^= next; break;
    }
  }
  Lanes& to = warp.to(op.to[0]);
  each_lane(mask, [&](unsigned l) { to.v[l] = bits_of<T>(result); });
}

// Runs after a barrier at which each thread of the block gave a predicate.
void tell_votes(Warp& warp, const Op& op, LaneMask mask) {
  const LaunchState& launch = warp.launch();
  if (op.type == Type::kPred) {
    const bool holds =
        mode_of(op) == Mode::kAnd ? launch.barrier_votes == launch.block.count() : launch.barrier_votes != 0;
    return warp.set_predicate(op.to[0], holds ? kAllLanes : 0, mask);
  }
  Lanes& to = warp.to(op.to[0]);
  each_lane(mask, [&](unsigned l) { to.v[l] = launch.barrier_votes; });
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
  if (name == "match") return match;
  if (name == "bar_red")
    return (mode_of(op) == Mode::kPopc) == (op.type != Type::kPred) ? tell_votes : nullptr;
  if (name == "redux") {
    if (mode_of(op) < Mode::kAnd || mode_of(op) > Mode::kMax) return nullptr;
    return is_signed(op.type) ? reduce<std::int32_t> : reduce<std::uint32_t>;
  }
  if (name == "vote") return mode_of(op) >= Mode::kAll && mode_of(op) <= Mode::kBallot ? vote : nullptr;
  if (name == "shfl") return mode_of(op) >= Mode::kUp && mode_of(op) <= Mode::kIdx ? shuffle : nullptr;
  return nothing;
}

}  // namespace dhpvm::ptx
