// SPDX-License-Identifier: Apache-2.0
// Moves, conversions, and special registers.
#include <algorithm>
#include <cfenv>

#include "offload/ptx/lane_values.h"
#include "offload/ptx/special.h"

namespace dhpvm::ptx {
namespace {

void move(Warp& warp, const Op& op, LaneMask mask) {
  Lanes& to = warp.to(op.to[0]);
  const Lanes& a = warp.from(op.from[0]);
  each_lane(mask, [&](unsigned l) { to.v[l] = a.v[l]; });
}

void move_predicate(Warp& warp, const Op& op, LaneMask mask) {
  warp.set_predicate(op.to[0], warp.predicate(op.from[0]), mask);
}

// The address of a variable of this call.
void move_frame_address(Warp& warp, const Op& op, LaneMask mask) {
  Lanes& to = warp.to(op.to[0]);
  const std::uint64_t address = warp.local_base() + static_cast<std::uint64_t>(op.offset);
  each_lane(mask, [&](unsigned l) { to.v[l] = address; });
}

// {a, b} = c: a is the lowest part.
void unpack(Warp& warp, const Op& op, LaneMask mask) {
  const unsigned bits = size_of(op.type) * 8 / op.count;
  const Lanes whole = warp.from(op.from[0]);
  for (unsigned i = 0; i < op.count; ++i) {
    if (op.to[i] == kNoSlot) continue;
    Lanes& to = warp.to(op.to[i]);
    each_lane(mask,
              [&](unsigned l) { to.v[l] = whole.v[l] >> (bits * i) & ((std::uint64_t{1} << bits) - 1); });
  }
}

void pack(Warp& warp, const Op& op, LaneMask mask) {
  const unsigned bits = size_of(op.type) * 8 / op.count;
  Lanes& to = warp.to(op.to[0]);
  each_lane(mask, [&](unsigned l) {
    std::uint64_t whole = 0;
    for (unsigned i = 0; i < op.count; ++i)
      whole |= (warp.from(op.from[i]).v[l] & ((std::uint64_t{1} << bits) - 1)) << (bits * i);
    to.v[l] = whole;
  });
}

std::uint32_t special_value(Warp& warp, Special which, unsigned lane) {
  const LaunchState& launch = warp.launch();
  const Extent at = warp.position_of(lane);
  switch (which) {
    case Special::kTidX: return at.x;
    case Special::kTidY: return at.y;
    case Special::kTidZ: return at.z;
    case Special::kNtidX: return launch.block.x;
    case Special::kNtidY: return launch.block.y;
    case Special::kNtidZ: return launch.block.z;
    case Special::kCtaidX: return launch.block_index.x;
    case Special::kCtaidY: return launch.block_index.y;
    case Special::kCtaidZ: return launch.block_index.z;
    case Special::kNctaidX: return launch.grid.x;
    case Special::kNctaidY: return launch.grid.y;
    case Special::kNctaidZ: return launch.grid.z;
    case Special::kLaneid: return lane;
    case Special::kWarpid: return warp.thread_of(lane) / kWarpSize;
    case Special::kNwarpid:
      return static_cast<std::uint32_t>((launch.block.count() + kWarpSize - 1) / kWarpSize);
    case Special::kLaneEq: return 1U << lane;
    case Special::kLaneLe: return (2U << lane) - 1;
    case Special::kLaneLt: return (1U << lane) - 1;
    case Special::kLaneGe: return ~((1U << lane) - 1);
    case Special::kLaneGt: return ~((2U << lane) - 1);
    case Special::kNoSpecial: break;
    case Special::kClock: return static_cast<std::uint32_t>(launch.executed);
  }
  return 0;
}

void move_special(Warp& warp, const Op& op, LaneMask mask) {
  Lanes& to = warp.to(op.to[0]);
  each_lane(mask, [&](unsigned l) { to.v[l] = special_value(warp, static_cast<Special>(op.mode), l); });
}

// The bits of `value`, as wide as the destination register.
std::uint64_t extended(std::int64_t value, const Op& op) {
  const auto bits = static_cast<std::uint64_t>(value);
  return op.width == 8 ? bits : bits & ((std::uint64_t{1} << op.width * 8) - 1);
}

template <typename R, typename A>
std::uint64_t integer_to_integer(A value, const Op& op) {
  if (op.has(FlagBit::kSat)) {
    __extension__ using Wide = __int128;
    const Wide limited =
        std::clamp<Wide>(value, std::numeric_limits<R>::min(), std::numeric_limits<R>::max());
    return extended(static_cast<std::int64_t>(static_cast<R>(limited)), op);
  }
  if constexpr (std::is_signed_v<R>) return extended(static_cast<R>(value), op);
  return static_cast<R>(value);
}

template <typename T>
T rounded_to_whole(T value, Rounding rounding) {
  switch (rounding) {
    case Rounding::kNearestInt: return std::nearbyint(value);
    case Rounding::kDownInt: return std::floor(value);
    case Rounding::kUpInt: return std::ceil(value);
    case Rounding::kZeroInt: return std::trunc(value);
    default: return value;
  }
}

// Saturates. NaN becomes 0, or the highest bit alone in 64 bits.
template <typename R, typename A>
std::uint64_t float_to_integer(A value, const Op& op) {
  if (std::isnan(value)) {
    if (sizeof(A) < 8 && sizeof(R) < 8) return 0;
    return extended(static_cast<std::int64_t>(static_cast<R>(std::uint64_t{1} << (sizeof(R) * 8 - 1))), op);
  }
  const A whole = rounded_to_whole(value, op.rounding);
  // Ends of the range as powers of two, which are exact.
  const A end = std::ldexp(A(1), sizeof(R) * 8 - (std::is_signed_v<R> ? 1 : 0));
  const A begin = std::is_signed_v<R> ? -end : A(0);
  R result = 0;
  if (whole >= end) {
    result = std::numeric_limits<R>::max();
  } else if (whole <= begin) {
    result = std::numeric_limits<R>::min();
  } else {
    result = static_cast<R>(whole);
  }
  if constexpr (std::is_signed_v<R>) return extended(result, op);
  return result;
}

int mode_for(Rounding rounding) {
  switch (rounding) {
    case Rounding::kZero: return FE_TOWARDZERO;
    case Rounding::kDown: return FE_DOWNWARD;
    case Rounding::kUp: return FE_UPWARD;
    default: return FE_TONEAREST;
  }
}

template <typename T>
T flushed(T value, const Op& op) {
  if constexpr (std::is_same_v<T, float>) {
    if (op.has(FlagBit::kFtz) && std::fpclassify(value) == FP_SUBNORMAL) return std::copysign(0.0F, value);
  }
  return value;
}

template <typename R, typename A>
std::uint64_t to_float(A value, const Op& op) {
  if constexpr (std::is_floating_point_v<A>) value = rounded_to_whole(flushed(value, op), op.rounding);
  const int mode = mode_for(op.rounding);
  if (mode != FE_TONEAREST) std::fesetround(mode);
  // Volatile, so that the compiler does not move the conversion away from the rounding mode.
  volatile A in = value;
  volatile R out = static_cast<R>(A(in));
  if (mode != FE_TONEAREST) std::fesetround(FE_TONEAREST);
  R result = flushed(R(out), op);
  if (op.has(FlagBit::kSat)) result = result > 0 ? (result < 1 ? result : R(1)) : R(0);
  return bits_of<R>(result);
}

// Converts to double with rounding to odd.
template <typename A>
double exact_or_odd(A value) {
  if constexpr (!std::is_integral_v<A> || sizeof(A) < 8) {
    return static_cast<double>(value);
  } else {
    const bool minus = std::is_signed_v<A> && value < 0;
    auto size = static_cast<std::uint64_t>(value);
    if (minus) size = 0 - size;
    if (size >> 53 != 0) size = (size & ~std::uint64_t{0x7ff}) | ((size & 0x7ff) != 0 ? 0x800 : 0);
    return minus ? -static_cast<double>(size) : static_cast<double>(size);
  }
}

template <typename R>
std::uint64_t to_half(double value, const Op& op) {
  if (op.has(FlagBit::kRelu) && value <= 0) value = 0;
  if (op.has(FlagBit::kSat)) value = value > 0 ? std::min(value, 1.0) : 0.0;
  return half_bits<R>(rounded_to_whole(value, op.rounding), op.rounding);
}

// Packs two numbers into one register, the first into the upper half.
template <typename R>
void convert_pair(Warp& warp, const Op& op, LaneMask mask) {
  apply<std::uint32_t, float, float>(warp, op, mask, [&](float upper, float lower) {
    return static_cast<std::uint32_t>(to_half<R>(double{flushed(upper, op)}, op) << 16 |
                                      to_half<R>(double{flushed(lower, op)}, op));
  });
}

template <typename A>
auto number_of(std::uint64_t bits) {
  if constexpr (is_half_format<A>) {
    return static_cast<float>(half_value<A>(static_cast<std::uint16_t>(bits)));
  } else {
    return value_of<A>(bits);
  }
}

template <typename R, typename A>
void convert(Warp& warp, const Op& op, LaneMask mask) {
  Lanes& to = warp.to(op.to[0]);
  const Lanes& a = warp.from(op.from[0]);
  each_lane(mask, [&](unsigned l) {
    const auto value = number_of<A>(a.v[l]);
    if constexpr (is_half_format<R>) {
      to.v[l] = to_half<R>(exact_or_odd(flushed(value, op)), op);
    } else if constexpr (std::is_floating_point_v<R>) {
      to.v[l] = to_float<R>(value, op);
    } else if constexpr (std::is_floating_point_v<decltype(value)>) {
      to.v[l] = float_to_integer<R>(flushed(value, op), op);
    } else {
      to.v[l] = integer_to_integer<R>(value, op);
    }
  });
}

// Shared and local addresses become generic, or the other way round; global ones are generic.
void convert_address(Warp& warp, const Op& op, LaneMask mask) {
  const std::uint64_t window = op.space == Space::kShared  ? kSharedWindow
                               : op.space == Space::kLocal ? kLocalWindow
                                                           : 0;
  const bool to_space = op.has(FlagBit::kTo);
  Lanes& to = warp.to(op.to[0]);
  const Lanes& a = warp.from(op.from[0]);
  each_lane(mask, [&](unsigned l) {
    to.v[l] = window == 0 ? a.v[l] : to_space ? a.v[l] & ~kWindowMask : a.v[l] | window;
  });
}

void is_in_space(Warp& warp, const Op& op, LaneMask mask) {
  LaneMask result = 0;
  const Lanes& a = warp.from(op.from[0]);
  each_lane(mask, [&](unsigned l) {
    const std::uint64_t window = a.v[l] & kWindowMask;
    const Space space = window == kSharedWindow  ? Space::kShared
                        : window == kLocalWindow ? Space::kLocal
                                                 : Space::kGlobal;
    if (space == op.space) result |= 1U << l;
  });
  warp.set_predicate(op.to[0], result, mask);
}

Execute select_move(const Op& op) {
  if (op.type == Type::kPred) return move_predicate;
  if (op.has(FlagBit::kFrame)) return move_frame_address;
  if (op.mode != 0) return move_special;
  if (op.count > 1) return op.to[1] != kNoSlot || op.has(FlagBit::kTo) ? unpack : pack;
  return move;
}

}  // namespace

Execute select_convert(std::string_view name, const Op& op) {
  if (name == "mov") return select_move(op);
  if (name == "cvta") return convert_address;
  if (name == "isspacep") return is_in_space;
  if (is_half_pair(op.type)) {
    if (op.from_type != Type::kF32 || op.rounding == Rounding::kNone) return nullptr;
    return op.type == Type::kF16x2 ? convert_pair<F16> : convert_pair<BF16>;
  }
  return with_number(op.type, [&](auto to) -> Execute {
    using R = decltype(to);
    return with_number(op.from_type, [&](auto from) -> Execute {
      using A = decltype(from);
      constexpr bool kNarrows = (std::is_same_v<R, float> && std::is_same_v<A, double>) ||
                                (is_half_format<R> && !std::is_same_v<R, A>);
      constexpr bool kNeedsRounding = kNarrows || std::is_integral_v<R> != std::is_integral_v<A>;
      if (kNeedsRounding && op.rounding == Rounding::kNone) return nullptr;
      return convert<R, A>;
    });
  });
}

}  // namespace dhpvm::ptx
