// SPDX-License-Identifier: Apache-2.0
// Arithmetic and logic of integers.
#include <algorithm>

#include "offload/ptx/lane_values.h"

namespace dhpvm::ptx {
namespace {

template <typename T>
using Unsigned = std::make_unsigned_t<T>;
template <typename T>
constexpr unsigned kBits = sizeof(T) * 8;
__extension__ using Signed128 = __int128;
__extension__ using Unsigned128 = unsigned __int128;
template <typename T>
using Wider = std::conditional_t<std::is_signed_v<T>, Signed128, Unsigned128>;

template <typename T>
T wrapped(Wider<T> value) {
  return static_cast<T>(value);
}

struct Add {
  template <typename T>
  T operator()(T a, T b) const {
    return static_cast<T>(Unsigned<T>(a) + Unsigned<T>(b));
  }
};
struct Subtract {
  template <typename T>
  T operator()(T a, T b) const {
    return static_cast<T>(Unsigned<T>(a) - Unsigned<T>(b));
  }
};
struct AddSaturated {
  template <typename T>
  T operator()(T a, T b) const {
    return static_cast<T>(
        std::clamp<Wider<T>>(Wider<T>(a) + b, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
  }
};
struct SubtractSaturated {
  template <typename T>
  T operator()(T a, T b) const {
    return static_cast<T>(
        std::clamp<Wider<T>>(Wider<T>(a) - b, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
  }
};
struct MultiplyLow {
  template <typename T>
  T operator()(T a, T b) const {
    return static_cast<T>(std::uint64_t(a) * std::uint64_t(b));
  }
};
struct MultiplyHigh {
  template <typename T>
  T operator()(T a, T b) const {
    return wrapped<T>(Wider<T>(a) * Wider<T>(b) >> kBits<T>);
  }
};
// Division by zero is undefined in PTX; the device gives all ones.
struct Divide {
  template <typename T>
  T operator()(T a, T b) const {
    if (b == 0) return static_cast<T>(-1);
    return wrapped<T>(Wider<T>(a) / Wider<T>(b));
  }
};
struct Remainder {
  template <typename T>
  T operator()(T a, T b) const {
    if (b == 0) return a;
    return wrapped<T>(Wider<T>(a) % Wider<T>(b));
  }
};
struct Minimum {
  template <typename T>
  T operator()(T a, T b) const {
    return std::min(a, b);
  }
};
struct Maximum {
  template <typename T>
  T operator()(T a, T b) const {
    return std::max(a, b);
  }
};
struct And {
  template <typename T>
  T operator()(T a, T b) const {
    return static_cast<T>(a & b);
  }
};
struct Or {
  template <typename T>
  T operator()(T a, T b) const {
    return static_cast<T>(a | b);
  }
};
struct Xor {
  template <typename T>
  T operator()(T a, T b) const {
    return static_cast<T>(a ^ b);
  }
};

template <typename F>
Execute binary(Type type) {
  return with_type(type, [](auto example) -> Execute {
    using T = decltype(example);
    if constexpr (std::is_integral_v<T>) {
      return [](Warp& w, const Op& op, LaneMask mask) { apply<T, T, T>(w, op, mask, F()); };
    } else {
      return nullptr;
    }
  });
}
template <typename F>
Execute unary(Type type) {
  return with_type(type, [](auto example) -> Execute {
    using T = decltype(example);
    if constexpr (std::is_integral_v<T>) {
      return [](Warp& w, const Op& op, LaneMask mask) { apply<T, T>(w, op, mask, F()); };
    } else {
      return nullptr;
    }
  });
}
// The result is a number of 32 bits.
template <typename F>
Execute counting(Type type) {
  return with_type(type, [](auto example) -> Execute {
    using T = decltype(example);
    if constexpr (std::is_integral_v<T>) {
      return [](Warp& w, const Op& op, LaneMask mask) { apply<std::uint32_t, T>(w, op, mask, F()); };
    } else {
      return nullptr;
    }
  });
}
// The second source is an amount of 32 bits.
template <typename F>
Execute shift(Type type) {
  return with_type(type, [](auto example) -> Execute {
    using T = decltype(example);
    if constexpr (std::is_integral_v<T>) {
      return [](Warp& w, const Op& op, LaneMask mask) { apply<T, T, std::uint32_t>(w, op, mask, F()); };
    } else {
      return nullptr;
    }
  });
}

struct ShiftLeft {
  template <typename T>
  T operator()(T a, std::uint32_t n) const {
    return n >= kBits<T> ? T(0) : static_cast<T>(std::uint64_t(a) << n);
  }
};
struct ShiftRight {
  template <typename T>
  T operator()(T a, std::uint32_t n) const {
    if (n < kBits<T>) return static_cast<T>(a >> n);
    return std::is_signed_v<T> && a < 0 ? static_cast<T>(-1) : T(0);
  }
};
struct Negate {
  template <typename T>
  T operator()(T a) const {
    return static_cast<T>(0 - Unsigned<T>(a));
  }
};
struct Absolute {
  template <typename T>
  T operator()(T a) const {
    if constexpr (std::is_signed_v<T>) return a < 0 ? static_cast<T>(0 - Unsigned<T>(a)) : a;
    return a;
  }
};
struct Not {
  template <typename T>
  T operator()(T a) const {
    return static_cast<T>(~a);
  }
};
struct LogicalNot {
  template <typename T>
  T operator()(T a) const {
    return a == 0;
  }
};
struct CountOnes {
  template <typename T>
  std::uint32_t operator()(T a) const {
    return static_cast<std::uint32_t>(std::popcount(Unsigned<T>(a)));
  }
};
struct LeadingZeros {
  template <typename T>
  std::uint32_t operator()(T a) const {
    return static_cast<std::uint32_t>(std::countl_zero(Unsigned<T>(a)));
  }
};
// The highest bit that differs from the sign; all ones if there is none.
struct FindBit {
  template <typename T>
  std::uint32_t operator()(T a) const {
    const auto bits = Unsigned<T>(std::is_signed_v<T> && a < 0 ? ~a : a);
    return static_cast<std::uint32_t>(kBits<T> - 1) - static_cast<std::uint32_t>(std::countl_zero(bits));
  }
};
struct Reverse {
  template <typename T>
  T operator()(T a) const {
    std::uint64_t result = 0;
    for (unsigned i = 0; i < kBits<T>; ++i) result |= (std::uint64_t(a) >> i & 1) << (kBits<T> - 1 - i);
    return static_cast<T>(result);
  }
};

// The shift that moves the bit found to the highest position.
struct FindShift {
  template <typename T>
  std::uint32_t operator()(T a) const {
    const std::uint32_t position = FindBit()(a);
    return position > kBits<T> ? position : static_cast<std::uint32_t>(kBits<T> - 1) - position;
  }
};

template <typename T>
void multiply_wide(Warp& warp, const Op& op, LaneMask mask) {
  using R = std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>;
  Lanes& to = warp.to(op.to[0]);
  const Lanes& a = warp.from(op.from[0]);
  const Lanes& b = warp.from(op.from[1]);
  const bool adds = op.count == 3;
  const Lanes& c = warp.from(adds ? op.from[2] : op.from[0]);
  constexpr std::uint64_t kMask = sizeof(T) >= 4 ? ~std::uint64_t{0} : 0xffffffff;
  each_lane(mask, [&](unsigned l) {
    const auto product = static_cast<std::uint64_t>(R{value_of<T>(a.v[l])} * R{value_of<T>(b.v[l])});
    to.v[l] = (product + (adds ? c.v[l] : 0)) & kMask;
  });
}

template <typename T, typename F>
void multiply_add(Warp& warp, const Op& op, LaneMask mask) {
  apply<T, T, T, T>(warp, op, mask, [](T a, T b, T c) { return Add()(F()(a, b), c); });
}

Execute select_product(Type type, const Op& op) {
  return with_type(type, [&](auto example) -> Execute {
    using T = decltype(example);
    if constexpr (std::is_integral_v<T> && sizeof(T) > 1) {
      const bool adds = op.count == 3;
      if (mode_of(op) == Mode::kWide) {
        if constexpr (sizeof(T) < 8) return multiply_wide<T>;
        return nullptr;
      }
      if (mode_of(op) == Mode::kHi)
        return adds ? multiply_add<T, MultiplyHigh> : binary<MultiplyHigh>(op.type);
      if (mode_of(op) != Mode::kLo) return nullptr;
      return adds ? multiply_add<T, MultiplyLow> : binary<MultiplyLow>(op.type);
    } else {
      return nullptr;
    }
  });
}

// Sums that take the carry in, give it out, or both; with three sources, of a product and a number.
template <typename T, bool kSubtracts, bool kTakesCarry>
void with_carry(Warp& warp, const Op& op, LaneMask mask) {
  Lanes& to = warp.to(op.to[0]);
  const Lanes& a = warp.from(op.from[0]);
  const Lanes& b = warp.from(op.from[1]);
  const Lanes& c = warp.from(op.count == 3 ? op.from[2] : op.from[1]);
  const LaneMask carry_in = kTakesCarry ? warp.carry() : 0;
  LaneMask carry_out = 0;
  each_lane(mask, [&](unsigned l) {
    T left = value_of<T>(a.v[l]);
    if (op.count == 3)
      left = mode_of(op) == Mode::kHi ? MultiplyHigh()(left, value_of<T>(b.v[l]))
                                      : MultiplyLow()(left, value_of<T>(b.v[l]));
    const Unsigned128 right = static_cast<Unsigned128>(value_of<T>(c.v[l])) + (carry_in >> l & 1);
    if constexpr (kSubtracts) {
      if (left < right) carry_out |= 1U << l;
      to.v[l] = bits_of<T>(static_cast<T>(left - right));
    } else {
      const Unsigned128 sum = left + right;
      if (sum >> kBits<T> != 0) carry_out |= 1U << l;
      to.v[l] = bits_of<T>(static_cast<T>(sum));
    }
  });
  if (op.has(FlagBit::kCarryOut)) warp.set_carry(carry_out, mask);
}

Execute select_carry(Type type, bool subtracts, bool takes_carry) {
  const auto pick = [&](auto example) -> Execute {
    using T = decltype(example);
    if (subtracts) return takes_carry ? with_carry<T, true, true> : with_carry<T, true, false>;
    return takes_carry ? with_carry<T, false, true> : with_carry<T, false, false>;
  };
  return size_of(type) == 8 ? pick(std::uint64_t()) : pick(std::uint32_t());
}

template <typename T>
T extract(T a, std::uint32_t position, std::uint32_t length) {
  position &= 0xff;
  length &= 0xff;
  const bool sign_known = std::is_signed_v<T> && length != 0;
  const std::uint32_t top = std::min<std::uint32_t>(position + length - 1, kBits<T> - 1);
  const bool sign = sign_known && (Unsigned<T>(a) >> top & 1) != 0;
  std::uint64_t result = sign ? ~std::uint64_t{0} : 0;
  for (std::uint32_t i = 0; i < length && i < kBits<T>; ++i) {
    const bool bit = position + i < kBits<T> ? (Unsigned<T>(a) >> (position + i) & 1) != 0 : sign;
    result = (result & ~(std::uint64_t{1} << i)) | std::uint64_t{bit} << i;
  }
  return static_cast<T>(result);
}

template <typename T>
void extract_field(Warp& warp, const Op& op, LaneMask mask) {
  apply<T, T, std::uint32_t, std::uint32_t>(warp, op, mask, extract<T>);
}

template <typename T>
void insert_field(Warp& warp, const Op& op, LaneMask mask) {
  Lanes& to = warp.to(op.to[0]);
  each_lane(mask, [&](unsigned l) {
    const std::uint64_t a = warp.from(op.from[0]).v[l];
    std::uint64_t result = warp.from(op.from[1]).v[l];
    const std::uint64_t position = warp.from(op.from[2]).v[l] & 0xff;
    const std::uint64_t length = warp.from(op.from[3]).v[l] & 0xff;
    for (std::uint64_t i = 0; i < length && position + i < kBits<T>; ++i)
      result = (result & ~(std::uint64_t{1} << (position + i))) | (a >> i & 1) << (position + i);
    to.v[l] = result;
  });
}

void permute(Warp& warp, const Op& op, LaneMask mask) {
  apply<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>(
      warp, op, mask, [](std::uint32_t a, std::uint32_t b, std::uint32_t selector) {
        const std::uint64_t bytes = std::uint64_t{b} << 32 | a;
        std::uint32_t result = 0;
        for (unsigned i = 0; i < 4; ++i) {
          const std::uint32_t choice = selector >> (4 * i) & 0xf;
          std::uint32_t byte = bytes >> (8 * (choice & 7)) & 0xff;
          if ((choice & 8) != 0) byte = (byte & 0x80) != 0 ? 0xff : 0;
          result |= byte << (8 * i);
        }
        return result;
      });
}

template <bool kLeft, bool kWraps>
void funnel_shift(Warp& warp, const Op& op, LaneMask mask) {
  apply<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>(
      warp, op, mask, [](std::uint32_t low, std::uint32_t high, std::uint32_t amount) {
        const std::uint64_t both = std::uint64_t{high} << 32 | low;
        const std::uint32_t n = kWraps ? amount & 31 : std::min(amount, 32U);
        return static_cast<std::uint32_t>(kLeft ? (both << n) >> 32 : both >> n);
      });
}

// Any function of three bits (lop3): the table's bits are its values for the bits of 0xf0, 0xcc and 0xaa.
void logic_of_three(Warp& warp, const Op& op, LaneMask mask) {
  Lanes& to = warp.to(op.to[0]);
  const Lanes& a = warp.from(op.from[0]);
  const Lanes& b = warp.from(op.from[1]);
  const Lanes& c = warp.from(op.from[2]);
  const std::uint64_t table = warp.from(op.from[3]).v[0];
  each_lane(mask, [&](unsigned l) {
    std::uint64_t result = 0;
    for (unsigned row = 0; row < 8; ++row) {
      if ((table >> row & 1) == 0) continue;
      result |= ((row & 4) != 0 ? a.v[l] : ~a.v[l]) & ((row & 2) != 0 ? b.v[l] : ~b.v[l]) &
                ((row & 1) != 0 ? c.v[l] : ~c.v[l]);
    }
    to.v[l] = result & 0xffffffff;
  });
}

template <typename A, typename B>
void dot_of_bytes(Warp& warp, const Op& op, LaneMask mask) {
  apply<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>(
      warp, op, mask, [](std::uint32_t a, std::uint32_t b, std::uint32_t sum) {
        for (unsigned shift = 0; shift < 32; shift += 8)
          sum +=
              static_cast<std::uint32_t>(int{static_cast<A>(a >> shift)} * int{static_cast<B>(b >> shift)});
        return sum;
      });
}

Execute select_dot(const Op& op) {
  if (is_signed(op.type))
    return is_signed(op.from_type) ? dot_of_bytes<std::int8_t, std::int8_t>
                                   : dot_of_bytes<std::int8_t, std::uint8_t>;
  return is_signed(op.from_type) ? dot_of_bytes<std::uint8_t, std::int8_t>
                                 : dot_of_bytes<std::uint8_t, std::uint8_t>;
}

template <typename T>
void sum_of_differences(Warp& warp, const Op& op, LaneMask mask) {
  apply<T, T, T, T>(warp, op, mask,
                    [](T a, T b, T c) { return Add()(c, a < b ? Subtract()(b, a) : Subtract()(a, b)); });
}

// Products of 24 bits: the lower 32 bits of 48, or the upper ones; and a sum with them.
template <typename T>
void multiply_24(Warp& warp, const Op& op, LaneMask mask) {
  const unsigned shift = mode_of(op) == Mode::kHi ? 16 : 0;
  const bool adds = op.count == 3;
  apply<T, T, T, T>(warp, op, mask, [=](T a, T b, T c) {
    const auto cut = [](T value) {
      return static_cast<std::int64_t>(static_cast<T>(Unsigned<T>(value) << 8) >> 8);
    };
    const auto product = static_cast<T>(cut(a) * cut(b) >> shift);
    return adds ? Add()(product, c) : product;
  });
}

Execute select_rare(std::string_view name, const Op& op) {
  if (name == "lop3") return logic_of_three;
  if (name == "dp4a") return select_dot(op);
  if (name == "mul24" || name == "mad24")
    return is_signed(op.type) ? multiply_24<std::int32_t> : multiply_24<std::uint32_t>;
  if (name != "sad") return nullptr;
  return with_type(op.type, [&](auto example) -> Execute {
    using T = decltype(example);
    if constexpr (std::is_integral_v<T>) return sum_of_differences<T>;
    return nullptr;
  });
}

Execute select_bits(std::string_view name, const Op& op) {
  const bool wide = size_of(op.type) == 8;
  if (name == "prmt") return permute;
  if (name == "bfi") return wide ? insert_field<std::uint64_t> : insert_field<std::uint32_t>;
  if (name == "bfe") {
    if (is_signed(op.type)) return wide ? extract_field<std::int64_t> : extract_field<std::int32_t>;
    return wide ? extract_field<std::uint64_t> : extract_field<std::uint32_t>;
  }
  if (name == "shf") {
    const bool wraps = op.has(FlagBit::kWrap);
    if (mode_of(op) == Mode::kL) return wraps ? funnel_shift<true, true> : funnel_shift<true, false>;
    return wraps ? funnel_shift<false, true> : funnel_shift<false, false>;
  }
  if (name == "popc") return counting<CountOnes>(op.type);
  if (name == "clz") return counting<LeadingZeros>(op.type);
  if (name == "bfind")
    return op.has(FlagBit::kShiftAmount) ? counting<FindShift>(op.type) : counting<FindBit>(op.type);
  if (name == "brev") return unary<Reverse>(op.type);
  return select_rare(name, op);
}

template <typename F>
void predicate_logic(Warp& warp, const Op& op, LaneMask mask) {
  warp.set_predicate(op.to[0], F()(warp.predicate(op.from[0]), warp.predicate(op.from[1])), mask);
}

}  // namespace

Execute select_integer(std::string_view name, const Op& op) {
  const Type type = op.type;
  if (type == Type::kPred) {
    if (name == "and") return predicate_logic<And>;
    if (name == "or") return predicate_logic<Or>;
    if (name == "xor") return predicate_logic<Xor>;
    return
        [](Warp& w, const Op& o, LaneMask mask) { w.set_predicate(o.to[0], ~w.predicate(o.from[0]), mask); };
  }
  if (name == "addc" || name == "subc" || name == "madc" || op.has(FlagBit::kCarryOut))
    return select_carry(type, name.starts_with("sub"), name.ends_with("c"));
  if (name == "add")
    return op.has(FlagBit::kSat) ? (type == Type::kS32 ? binary<AddSaturated>(Type::kS32) : nullptr)
                                 : binary<Add>(type);
  if (name == "sub")
    return op.has(FlagBit::kSat) ? (type == Type::kS32 ? binary<SubtractSaturated>(Type::kS32) : nullptr)
                                 : binary<Subtract>(type);
  if (name == "mul" || name == "mad") return select_product(type, op);
  if (name == "div") return binary<Divide>(type);
  if (name == "rem") return binary<Remainder>(type);
  if (name == "min") return binary<Minimum>(type);
  if (name == "max") return binary<Maximum>(type);
  if (name == "and") return binary<And>(type);
  if (name == "or") return binary<Or>(type);
  if (name == "xor") return binary<Xor>(type);
  if (name == "shl") return shift<ShiftLeft>(type);
  if (name == "shr") return shift<ShiftRight>(type);
  if (name == "neg") return unary<Negate>(type);
  if (name == "abs") return unary<Absolute>(type);
  if (name == "not") return unary<Not>(type);
  if (name == "cnot") return unary<LogicalNot>(type);
  return select_bits(name, op);
}

}  // namespace dhpvm::ptx
