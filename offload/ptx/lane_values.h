// SPDX-License-Identifier: Apache-2.0
// Applies a function to the active lanes of registers. Where all lanes are active the C++ compiler vectorises the loop.
#pragma once

#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include "offload/ptx/half.h"
#include "offload/ptx/modes.h"
#include "offload/ptx/warp.h"

namespace dhpvm::ptx {

template <typename T>
T value_of(std::uint64_t bits) {
  if constexpr (std::is_same_v<T, float>) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  } else if constexpr (std::is_same_v<T, double>) {
    return std::bit_cast<double>(bits);
  } else {
    return static_cast<T>(bits);
  }
}

// A 32-bit NaN has one form, as on the device.
template <typename T>
std::uint64_t bits_of(T value) {
  if constexpr (std::is_same_v<T, float>) {
    return std::isnan(value) ? 0x7fffffffU : std::bit_cast<std::uint32_t>(value);
  } else if constexpr (std::is_same_v<T, double>) {
    return std::bit_cast<std::uint64_t>(value);
  } else {
    return static_cast<std::make_unsigned_t<T>>(value);
  }
}

inline bool is_in(LaneMask mask, unsigned lane) { return (mask >> lane & 1) != 0; }

// f(lane) for each lane of the mask.
template <typename F>
void each_lane(LaneMask mask, F&& f) {
  if (mask == kAllLanes) {
    for (unsigned lane = 0; lane < kWarpSize; ++lane) f(lane);
  } else {
    for (; mask != 0; mask &= mask - 1) f(static_cast<unsigned>(std::countr_zero(mask)));
  }
}

// For an operation with one, two or three sources.
template <typename R, typename A, typename F>
void apply(Warp& warp, const Op& op, LaneMask mask, F f) {
  Lanes& to = warp.to(op.to[0]);
  const Lanes& a = warp.from(op.from[0]);
  each_lane(mask, [&](unsigned l) { to.v[l] = bits_of<R>(f(value_of<A>(a.v[l]))); });
}
template <typename R, typename A, typename B, typename F>
void apply(Warp& warp, const Op& op, LaneMask mask, F f) {
  Lanes& to = warp.to(op.to[0]);
  const Lanes& a = warp.from(op.from[0]);
  const Lanes& b = warp.from(op.from[1]);
  each_lane(mask, [&](unsigned l) { to.v[l] = bits_of<R>(f(value_of<A>(a.v[l]), value_of<B>(b.v[l]))); });
}
template <typename R, typename A, typename B, typename C, typename F>
void apply(Warp& warp, const Op& op, LaneMask mask, F f) {
  Lanes& to = warp.to(op.to[0]);
  const Lanes& a = warp.from(op.from[0]);
  const Lanes& b = warp.from(op.from[1]);
  const Lanes& c = warp.from(op.from[2]);
  each_lane(mask, [&](unsigned l) {
    to.v[l] = bits_of<R>(f(value_of<A>(a.v[l]), value_of<B>(b.v[l]), value_of<C>(c.v[l])));
  });
}

// visit(T()) for the C++ type of the values; null for types that have none.
template <typename F>
Execute with_type(Type type, F&& visit) {
  switch (type) {
    case Type::kB8:
    case Type::kU8: return visit(std::uint8_t());
    case Type::kS8: return visit(std::int8_t());
    case Type::kB16:
    case Type::kU16: return visit(std::uint16_t());
    case Type::kS16: return visit(std::int16_t());
    case Type::kB32:
    case Type::kU32: return visit(std::uint32_t());
    case Type::kS32: return visit(std::int32_t());
    case Type::kB64:
    case Type::kU64: return visit(std::uint64_t());
    case Type::kS64: return visit(std::int64_t());
    case Type::kF32: return visit(float());
    case Type::kF64: return visit(double());
    default: return nullptr;
  }
}

// The same, with F16() and BF16() for numbers of 16 bits.
template <typename F>
Execute with_number(Type type, F&& visit) {
  if (type == Type::kF16) return visit(F16());
  if (type == Type::kBF16) return visit(BF16());
  return with_type(type, std::forward<F>(visit));
}
template <typename T>
inline constexpr bool is_half_format = std::is_same_v<T, F16> || std::is_same_v<T, BF16>;

inline Mode mode_of(const Op& op) { return static_cast<Mode>(op.mode); }

// The function that executes an instruction, chosen at decoding; null if the operation has no such form.
Execute select_integer(std::string_view name, const Op& op);
Execute select_float(std::string_view name, const Op& op);
Execute select_half(std::string_view name, const Op& op);
// The sum of two 16-bit numbers, or of two pairs of them.
std::uint64_t half_sum(Type type, std::uint64_t a, std::uint64_t b);
Execute select_compare(std::string_view name, const Op& op);
Execute select_convert(std::string_view name, const Op& op);
Execute select_memory(std::string_view name, const Op& op);
Execute select_threads(std::string_view name, const Op& op);

}  // namespace dhpvm::ptx
