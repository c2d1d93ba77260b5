// SPDX-License-Identifier: Apache-2.0
// Arithmetic of 16-bit floating-point numbers, one or two in a register. Every result is rounded once.
#include "offload/ptx/half.h"

#include "offload/ptx/lane_values.h"

namespace dhpvm::ptx {
namespace {

struct Add {
  double operator()(double a, double b, double) const { return sum_to_odd(a, b); }
};
struct Subtract {
  double operator()(double a, double b, double) const { return sum_to_odd(a, -b); }
};
struct Multiply {
  double operator()(double a, double b, double) const { return a * b; }
};
struct Fuse {
  double operator()(double a, double b, double c) const { return sum_to_odd(a * b, c); }
};
struct Minimum {
  double operator()(double a, double b, double) const {
    if (a == b) return std::signbit(a) ? a : b;
    return std::fmin(a, b);
  }
};
struct Maximum {
  double operator()(double a, double b, double) const {
    if (a == b) return std::signbit(a) ? b : a;
    return std::fmax(a, b);
  }
};
struct Power2 {
  double operator()(double a, double, double) const { return std::exp2(a); }
};
struct HyperbolicTangent {
  double operator()(double a, double, double) const { return std::tanh(a); }
};

template <typename Format>
double flushed(double value, bool flush) {
  return flush && std::abs(value) < std::ldexp(1.0, Format::kLeast) ? std::copysign(0.0, value) : value;
}

template <typename Format, typename F>
std::uint16_t computed(const Op& op, const std::array<std::uint16_t, 3>& in) {
  const bool flush = op.has(FlagBit::kFtz);
  std::array<double, 3> v{};
  for (unsigned i = 0; i < 3; ++i) v[i] = flushed<Format>(half_value<Format>(in[i]), flush);
  if (op.has(FlagBit::kNan) && (std::isnan(v[0]) || std::isnan(v[1]))) return kHalfNan;
  double result = F()(v[0], v[1], v[2]);
  if (op.has(FlagBit::kSat)) result = result > 0 ? std::min(result, 1.0) : 0;
  if (op.has(FlagBit::kRelu) && !(result > 0) && !std::isnan(result)) result = 0;
  return half_bits<Format>(flushed<Format>(half_value<Format>(half_bits<Format>(result)), flush));
}

template <typename Format, typename F, unsigned kCount>
void each_half(Warp& warp, const Op& op, LaneMask mask) {
  Lanes& to = warp.to(op.to[0]);
  each_lane(mask, [&](unsigned l) {
    std::uint64_t result = 0;
    for (unsigned part = 0; part < kCount; ++part) {
      std::array<std::uint16_t, 3> in{};
      for (unsigned i = 0; i < op.count; ++i)
        in[i] = static_cast<std::uint16_t>(warp.from(op.from[i]).v[l] >> (16 * part));
      result |= std::uint64_t{computed<Format, F>(op, in)} << (16 * part);
    }
    to.v[l] = result;
  });
}

template <typename F>
Execute with_format(Type type) {
  switch (type) {
    case Type::kF16: return each_half<F16, F, 1>;
    case Type::kF16x2: return each_half<F16, F, 2>;
    case Type::kBF16: return each_half<BF16, F, 1>;
    default: return each_half<BF16, F, 2>;
  }
}

constexpr std::uint64_t kSigns = 0x80008000;

void change_signs(Warp& warp, const Op& op, LaneMask mask) {
  const std::uint64_t signs = is_half_pair(op.type) ? kSigns : 0x8000;
  apply<std::uint64_t, std::uint64_t>(warp, op, mask, [=](std::uint64_t a) { return a ^ signs; });
}
void drop_signs(Warp& warp, const Op& op, LaneMask mask) {
  apply<std::uint64_t, std::uint64_t>(warp, op, mask, [](std::uint64_t a) { return a & ~kSigns; });
}

}  // namespace

Execute select_half(std::string_view name, const Op& op) {
  const bool nearest = op.rounding == Rounding::kNone || op.rounding == Rounding::kNearest;
  if (!nearest) return nullptr;
  if (name == "add") return with_format<Add>(op.type);
  if (name == "sub") return with_format<Subtract>(op.type);
  if (name == "mul") return with_format<Multiply>(op.type);
  if (name == "fma") return op.rounding == Rounding::kNone ? nullptr : with_format<Fuse>(op.type);
  if (name == "min") return with_format<Minimum>(op.type);
  if (name == "max") return with_format<Maximum>(op.type);
  if (name == "neg") return change_signs;
  if (name == "abs") return drop_signs;
  if (!op.has(FlagBit::kApprox) && op.type != Type::kBF16 && op.type != Type::kBF16x2) return nullptr;
  if (name == "ex2") return with_format<Power2>(op.type);
  if (name == "tanh") return with_format<HyperbolicTangent>(op.type);
  return nullptr;
}

// The sum of an atomic update.
std::uint64_t half_sum(Type type, std::uint64_t a, std::uint64_t b) {
  const unsigned parts = is_half_pair(type) ? 2 : 1;
  const Op plain;
  std::uint64_t result = 0;
  for (unsigned part = 0; part < parts; ++part) {
    const std::array<std::uint16_t, 3> in = {static_cast<std::uint16_t>(a >> (16 * part)),
                                             static_cast<std::uint16_t>(b >> (16 * part)), 0};
    const std::uint16_t sum = type == Type::kF16 || type == Type::kF16x2 ? computed<F16, Add>(plain, in)
                                                                         : computed<BF16, Add>(plain, in);
    result |= std::uint64_t{sum} << (16 * part);
  }
  return result;
}

}  // namespace dhpvm::ptx
