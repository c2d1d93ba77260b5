// SPDX-License-Identifier: Apache-2.0
#include "bytecode/reduction.h"

#include <limits>
#include <type_traits>

#include "bytecode/registers.h"

namespace dhpvm::bytecode {
namespace {

template <typename T>
T identity_of(ReductionOp op) {
  using Limits = std::numeric_limits<T>;
  switch (op) {
    case ReductionOp::kAdd: return std::is_floating_point_v<T> ? static_cast<T>(-0.0) : T{0};
    case ReductionOp::kMul: return T{1};
    case ReductionOp::kMin: return Limits::has_infinity ? Limits::infinity() : Limits::max();
    case ReductionOp::kMax:
      return Limits::has_infinity ? static_cast<T>(-Limits::infinity()) : Limits::lowest();
    case ReductionOp::kAnd:
      if constexpr (std::is_integral_v<T>) return static_cast<T>(~T{0});
      break;
    case ReductionOp::kOr:
    case ReductionOp::kXor: break;
  }
  return T{0};
}

template <typename T>
T apply(ReductionOp op, T left, T right) {
  if (op == ReductionOp::kMin) return right < left ? right : left;
  if (op == ReductionOp::kMax) return right > left ? right : left;
  if constexpr (std::is_floating_point_v<T>) {
    return op == ReductionOp::kAdd ? left + right : left * right;
  } else {
    // Unsigned and 64 bits wide, so that nothing overflows; the cast wraps.
    const std::uint64_t a = put(left);
    const std::uint64_t b = put(right);
    switch (op) {
      case ReductionOp::kAdd: return static_cast<T>(a + b);
      case ReductionOp::kMul: return static_cast<T>(a * b);
      case ReductionOp::kAnd: return static_cast<T>(a & b);
      case ReductionOp::kOr: return static_cast<T>(a | b);
      default: return static_cast<T>(a ^ b);
    }
  }
}

// Calls f(T{}) for the C++ type of `kind`.
template <typename F>
std::uint64_t with_type(Kind kind, F&& f) {
  switch (kind) {
    case Kind::kI8: return f(std::int8_t{});
    case Kind::kU8: return f(std::uint8_t{});
    case Kind::kI16: return f(std::int16_t{});
    case Kind::kU16: return f(std::uint16_t{});
    case Kind::kI32: return f(std::int32_t{});
    case Kind::kU32: return f(std::uint32_t{});
    case Kind::kF32: return f(float{});
    case Kind::kF64: return f(double{});
    case Kind::kU64: return f(std::uint64_t{});
    default: return f(std::int64_t{});
  }
}

}  // namespace

std::uint64_t identity(const Reduction& reduction) {
  if (reduction.kind == Kind::kBool) return reduction.op == ReductionOp::kAnd ? 1 : 0;
  return with_type(reduction.kind, [&]<typename T>(T) { return put(identity_of<T>(reduction.op)); });
}

std::uint64_t combine(const Reduction& reduction, std::uint64_t left, std::uint64_t right) {
  return with_type(reduction.kind,
                   [&]<typename T>(T) { return put(apply<T>(reduction.op, get<T>(left), get<T>(right))); });
}

std::uint64_t combine_lanes(const Reduction& reduction, std::span<std::uint64_t, kReductionLanes> lanes) {
  for (std::uint32_t distance = kReductionLanes / 2; distance > 0; distance /= 2) {
    for (std::uint32_t lane = 0; lane < distance; ++lane) {
      lanes[lane] = combine(reduction, lanes[lane], lanes[lane + distance]);
    }
  }
  return lanes[0];
}

}  // namespace dhpvm::bytecode
