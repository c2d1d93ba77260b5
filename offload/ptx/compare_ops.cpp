// SPDX-License-Identifier: Apache-2.0
// Comparisons and selections.
#include "offload/ptx/lane_values.h"

namespace dhpvm::ptx {
namespace {

template <typename T>
bool is_unordered(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) return std::isnan(a) || std::isnan(b);
  return false;
}

template <Mode kMode, typename T>
bool compare(T a, T b) {
  switch (kMode) {
    case Mode::kEq: return a == b;
    case Mode::kNe: return a != b && !is_unordered(a, b);
    case Mode::kLt:
    case Mode::kLo: return a < b;
    case Mode::kLe:
    case Mode::kLs: return a <= b;
    case Mode::kGt:
    case Mode::kHi: return a > b;
    case Mode::kGe:
    case Mode::kHs: return a >= b;
    case Mode::kEqu: return a == b || is_unordered(a, b);
    case Mode::kNeu: return a != b || is_unordered(a, b);
    case Mode::kLtu: return a < b || is_unordered(a, b);
    case Mode::kLeu: return a <= b || is_unordered(a, b);
    case Mode::kGtu: return a > b || is_unordered(a, b);
    case Mode::kGeu: return a >= b || is_unordered(a, b);
    case Mode::kNum: return !is_unordered(a, b);
    case Mode::kNan: return is_unordered(a, b);
    default: return false;
  }
}

template <typename T>
T input_of(std::uint64_t bits, bool flush) {
  const T value = value_of<T>(bits);
  if constexpr (std::is_same_v<T, float>) {
    if (flush && std::fpclassify(value) == FP_SUBNORMAL) return std::copysign(0.0F, value);
  }
  return value;
}

template <typename T>
auto input(std::uint64_t bits, bool flush) {
  if constexpr (is_half_format<T>) {
    const double half = half_value<T>(static_cast<std::uint16_t>(bits));
    return flush && std::abs(half) < std::ldexp(1.0, T::kLeast) ? std::copysign(0.0, half) : half;
  } else {
    return input_of<T>(bits, flush);
  }
}

template <typename T, Mode kMode>
LaneMask compared(Warp& warp, const Op& op, LaneMask mask) {
  const Lanes& a = warp.from(op.from[0]);
  const Lanes& b = warp.from(op.from[1]);
  const bool flush = op.has(FlagBit::kFtz);
  LaneMask result = 0;
  each_lane(mask, [&](unsigned l) {
    const bool holds = compare<kMode>(input<T>(a.v[l], flush), input<T>(b.v[l], flush));
    result |= static_cast<LaneMask>(holds) << l;
  });
  return result;
}

template <typename T, Mode kMode>
void set_predicate(Warp& warp, const Op& op, LaneMask mask) {
  const LaneMask holds = compared<T, kMode>(warp, op, mask);
  if (static_cast<Mode>(op.logic) == Mode::kNone) {
    warp.set_predicate(op.to[0], holds, mask);
    warp.set_predicate(op.to[1], ~holds, mask);
    return;
  }
  LaneMask other = warp.predicate(op.from[2]);
  if (op.has(FlagBit::kNegated)) other = ~other;
  const auto combine = [&](LaneMask value) {
    if (static_cast<Mode>(op.logic) == Mode::kAnd) return value & other;
    return static_cast<Mode>(op.logic) == Mode::kOr ? value | other : value ^ other;
  };
  warp.set_predicate(op.to[0], combine(holds), mask);
  warp.set_predicate(op.to[1], combine(~holds), mask);
}

// The instruction `set` writes a number instead of a predicate: 1.0 or all ones.
template <typename T, Mode kMode>
void set_number(Warp& warp, const Op& op, LaneMask mask) {
  const LaneMask holds = compared<T, kMode>(warp, op, mask);
  const std::uint64_t yes = op.type == Type::kF32 ? 0x3f800000 : 0xffffffff;
  Lanes& to = warp.to(op.to[0]);
  each_lane(mask, [&](unsigned l) { to.v[l] = is_in(holds, l) ? yes : 0; });
}

template <typename T, bool kNumber>
Execute with_mode(Mode mode) {
  switch (mode) {
#define X(name, text)                                                                                      \
  case Mode::name:                                                                                         \
    return Mode::name <= Mode::kNan ? (kNumber ? set_number<T, Mode::name> : set_predicate<T, Mode::name>) \
                                    : nullptr;
    DHPVM_PTX_MODES(X)
#undef X
    case Mode::kNone: break;
  }
  return nullptr;
}

void choose(Warp& warp, const Op& op, LaneMask mask) {
  Lanes& to = warp.to(op.to[0]);
  const Lanes& a = warp.from(op.from[0]);
  const Lanes& b = warp.from(op.from[1]);
  const LaneMask first = warp.predicate(op.from[2]) ^ (op.has(FlagBit::kNegated) ? kAllLanes : 0);
  each_lane(mask, [&](unsigned l) { to.v[l] = is_in(first, l) ? a.v[l] : b.v[l]; });
}

void choose_by_sign(Warp& warp, const Op& op, LaneMask mask) {
  Lanes& to = warp.to(op.to[0]);
  each_lane(mask, [&](unsigned l) {
    const std::uint64_t c = warp.from(op.from[2]).v[l];
    const bool first = op.from_type == Type::kF32 ? value_of<float>(c) >= 0 : value_of<std::int32_t>(c) >= 0;
    to.v[l] = warp.from(op.from[first ? 0 : 1]).v[l];
  });
}

template <typename T>
bool has_property(Mode mode, T value) {
  switch (mode) {
    case Mode::kFinite: return std::isfinite(value);
    case Mode::kInfinite: return std::isinf(value);
    case Mode::kNumber: return !std::isnan(value);
    case Mode::kNotANumber: return std::isnan(value);
    case Mode::kNormal: return std::isnormal(value);
    default: return std::fpclassify(value) == FP_SUBNORMAL;
  }
}

template <typename T>
void test_property(Warp& warp, const Op& op, LaneMask mask) {
  LaneMask result = 0;
  const Lanes& a = warp.from(op.from[0]);
  each_lane(mask, [&](unsigned l) {
    if (has_property(mode_of(op), value_of<T>(a.v[l]))) result |= 1U << l;
  });
  warp.set_predicate(op.to[0], result, mask);
}

}  // namespace

Execute select_compare(std::string_view name, const Op& op) {
  if (name == "selp") return choose;
  if (name == "slct") return choose_by_sign;
  if (name == "testp") {
    if (mode_of(op) < Mode::kFinite) return nullptr;
    return op.type == Type::kF32 ? test_property<float> : test_property<double>;
  }
  const bool number = name == "set";
  return with_number(number ? op.from_type : op.type, [&](auto example) -> Execute {
    using T = decltype(example);
    return number ? with_mode<T, true>(mode_of(op)) : with_mode<T, false>(mode_of(op));
  });
}

}  // namespace dhpvm::ptx
