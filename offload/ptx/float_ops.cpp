// SPDX-License-Identifier: Apache-2.0
// Arithmetic of floating-point numbers: IEEE's, except where .approx or .ftz is written.
#include <cfenv>

#include "offload/ptx/lane_values.h"

namespace dhpvm::ptx {
namespace {

struct Add {
  template <typename T>
  T operator()(T a, T b, T) const {
    return a + b;
  }
};
struct Subtract {
  template <typename T>
  T operator()(T a, T b, T) const {
    return a - b;
  }
};
struct Multiply {
  template <typename T>
  T operator()(T a, T b, T) const {
    return a * b;
  }
};
struct Divide {
  template <typename T>
  T operator()(T a, T b, T) const {
    return a / b;
  }
};
struct Fuse {
  template <typename T>
  T operator()(T a, T b, T c) const {
    return std::fma(a, b, c);
  }
};
struct Root {
  template <typename T>
  T operator()(T a, T, T) const {
    return std::sqrt(a);
  }
};
struct Reciprocal {
  template <typename T>
  T operator()(T a, T, T) const {
    return T(1) / a;
  }
};
// It uses the upper half of its argument; the lower half of the result is zero.
struct RoughReciprocal {
  double operator()(double a, double, double) const {
    constexpr std::uint64_t kUpper = 0xffffffff00000000;
    const double rough = 1 / std::bit_cast<double>(std::bit_cast<std::uint64_t>(a) & kUpper);
    return std::bit_cast<double>(std::bit_cast<std::uint64_t>(rough) & kUpper);
  }
  float operator()(float a, float, float) const { return 1 / a; }
};
struct RoughReciprocalRoot {
  template <typename T>
  T operator()(T a, T, T) const {
    return static_cast<T>(1 / std::sqrt(static_cast<double>(a)));
  }
};
struct Sine {
  template <typename T>
  T operator()(T a, T, T) const {
    return static_cast<T>(std::sin(static_cast<double>(a)));
  }
};
struct Cosine {
  template <typename T>
  T operator()(T a, T, T) const {
    return static_cast<T>(std::cos(static_cast<double>(a)));
  }
};
struct Power2 {
  template <typename T>
  T operator()(T a, T, T) const {
    return static_cast<T>(std::exp2(static_cast<double>(a)));
  }
};
struct Logarithm2 {
  template <typename T>
  T operator()(T a, T, T) const {
    return static_cast<T>(std::log2(static_cast<double>(a)));
  }
};
struct HyperbolicTangent {
  template <typename T>
  T operator()(T a, T, T) const {
    return static_cast<T>(std::tanh(static_cast<double>(a)));
  }
};
struct Minimum {
  template <typename T>
  T operator()(T a, T b, T) const {
    if (std::isnan(a)) return b;
    if (std::isnan(b)) return a;
    if (a == b) return std::signbit(a) ? a : b;
    return a < b ? a : b;
  }
};
struct Maximum {
  template <typename T>
  T operator()(T a, T b, T) const {
    if (std::isnan(a)) return b;
    if (std::isnan(b)) return a;
    if (a == b) return std::signbit(a) ? b : a;
    return a > b ? a : b;
  }
};

template <typename T>
T flushed(T value) {
  return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(T(0), value) : value;
}

int rounding_of(const Op& op) {
  switch (op.rounding) {
    case Rounding::kZero: return FE_TOWARDZERO;
    case Rounding::kDown: return FE_DOWNWARD;
    case Rounding::kUp: return FE_UPWARD;
    default: return FE_TONEAREST;
  }
}

// With all modifiers: rounding, .ftz, .sat, .NaN.
template <typename T, typename F>
void careful(Warp& warp, const Op& op, LaneMask mask) {
  Lanes& to = warp.to(op.to[0]);
  const bool flush = op.has(FlagBit::kFtz);
  const int rounding = rounding_of(op);
  each_lane(mask, [&](unsigned l) {
    // Volatile, so that the compiler does not move the computation away from the rounding mode.
    volatile T in[3] = {};
    for (unsigned i = 0; i < op.count; ++i) {
      const T value = value_of<T>(warp.from(op.from[i]).v[l]);
      in[i] = flush ? flushed(value) : value;
    }
    if (rounding != FE_TONEAREST) std::fesetround(rounding);
    volatile T out = F()(T(in[0]), T(in[1]), T(in[2]));
    if (rounding != FE_TONEAREST) std::fesetround(FE_TONEAREST);
    T result = out;
    if (op.has(FlagBit::kNan) && (std::isnan(T(in[0])) || std::isnan(T(in[1]))))
      result = std::numeric_limits<T>::quiet_NaN();
    if (flush) result = flushed(result);
    if (op.has(FlagBit::kSat)) result = result > 0 ? (result < 1 ? result : T(1)) : T(0);
    to.v[l] = bits_of<T>(result);
  });
}

template <typename T, typename F>
void plain(Warp& warp, const Op& op, LaneMask mask) {
  if (op.count == 1) return apply<T, T>(warp, op, mask, [](T a) { return F()(a, a, a); });
  if (op.count == 2) return apply<T, T, T>(warp, op, mask, [](T a, T b) { return F()(a, b, b); });
  apply<T, T, T, T>(warp, op, mask, F());
}

template <typename F>
Execute pick(const Op& op) {
  const bool simple = (op.rounding == Rounding::kNone || op.rounding == Rounding::kNearest) &&
                      !op.has(FlagBit::kFtz) && !op.has(FlagBit::kSat) && !op.has(FlagBit::kNan);
  if (op.type == Type::kF32) return simple ? plain<float, F> : careful<float, F>;
  return simple ? plain<double, F> : careful<double, F>;
}

// Changes the sign bit, that of NaN as well.
template <typename F>
void on_bits(Warp& warp, const Op& op, LaneMask mask) {
  const std::uint64_t sign = std::uint64_t{1} << (op.type == Type::kF32 ? 31 : 63);
  const bool flush = op.has(FlagBit::kFtz);
  Lanes& to = warp.to(op.to[0]);
  const Lanes& a = warp.from(op.from[0]);
  const Lanes& b = warp.from(op.from[op.count == 2 ? 1 : 0]);
  each_lane(mask, [&](unsigned l) {
    std::uint64_t bits = a.v[l];
    if (flush) bits = bits_of<float>(flushed(value_of<float>(bits)));
    to.v[l] = F()(bits, b.v[l], sign);
  });
}
struct ChangeSign {
  std::uint64_t operator()(std::uint64_t a, std::uint64_t, std::uint64_t sign) const { return a ^ sign; }
};
struct DropSign {
  std::uint64_t operator()(std::uint64_t a, std::uint64_t, std::uint64_t sign) const { return a & ~sign; }
};
// copysign(a, b) has the sign of a.
struct TakeSign {
  std::uint64_t operator()(std::uint64_t a, std::uint64_t b, std::uint64_t sign) const {
    return (b & ~sign) | (a & sign);
  }
};

}  // namespace

Execute select_float(std::string_view name, const Op& op) {
  const bool rough = op.has(FlagBit::kApprox);
  const bool exact_or_rough = rough || op.has(FlagBit::kFull) || op.rounding != Rounding::kNone;
  if (name == "add") return pick<Add>(op);
  if (name == "sub") return pick<Subtract>(op);
  if (name == "mul") return pick<Multiply>(op);
  if (name == "min") return pick<Minimum>(op);
  if (name == "max") return pick<Maximum>(op);
  if (name == "fma" || name == "mad") return op.rounding == Rounding::kNone ? nullptr : pick<Fuse>(op);
  if (name == "div") return exact_or_rough ? pick<Divide>(op) : nullptr;
  if (name == "sqrt") return exact_or_rough ? pick<Root>(op) : nullptr;
  if (name == "rcp" && rough) return pick<RoughReciprocal>(op);
  if (name == "rcp") return exact_or_rough ? pick<Reciprocal>(op) : nullptr;
  if (name == "neg") return on_bits<ChangeSign>;
  if (name == "abs") return on_bits<DropSign>;
  if (name == "copysign") return on_bits<TakeSign>;
  if (!rough) return nullptr;
  if (name == "rsqrt") return pick<RoughReciprocalRoot>(op);
  if (name == "sin") return pick<Sine>(op);
  if (name == "cos") return pick<Cosine>(op);
  if (name == "ex2") return pick<Power2>(op);
  if (name == "lg2") return pick<Logarithm2>(op);
  if (name == "tanh") return pick<HyperbolicTangent>(op);
  return nullptr;
}

}  // namespace dhpvm::ptx
