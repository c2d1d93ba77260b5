// SPDX-License-Identifier: Apache-2.0
// The words of PTX that every file here shares: types, state spaces, roundings, comparisons and places in the text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace dhpvm::ptx {

inline constexpr unsigned kWarpSize = 32;
inline constexpr std::uint32_t kMostLocal = 512 << 10;  // bytes of a thread

struct Place {
  std::uint32_t line = 0;
  std::uint32_t column = 0;
};

// X(name, text, bytes). A predicate has no bytes in memory.
#define DHPVM_PTX_TYPES(X) \
  X(kPred, "pred", 0)      \
  X(kB8, "b8", 1)          \
  X(kU8, "u8", 1)          \
  X(kS8, "s8", 1)          \
  X(kB16, "b16", 2)        \
  X(kU16, "u16", 2)        \
  X(kS16, "s16", 2)        \
  X(kF16, "f16", 2)        \
  X(kBF16, "bf16", 2)      \
  X(kB32, "b32", 4)        \
  X(kU32, "u32", 4)        \
  X(kS32, "s32", 4)        \
  X(kF32, "f32", 4)        \
  X(kF16x2, "f16x2", 4)    \
  X(kBF16x2, "bf16x2", 4)  \
  X(kB64, "b64", 8)        \
  X(kU64, "u64", 8)        \
  X(kS64, "s64", 8)        \
  X(kF64, "f64", 8)

enum class Type : std::uint8_t {
#define X(name, text, bytes) name,
  DHPVM_PTX_TYPES(X)
#undef X
      kNone
};

constexpr unsigned size_of(Type type) {
  switch (type) {
#define X(name, text, bytes) \
  case Type::name: return bytes;
    DHPVM_PTX_TYPES(X)
#undef X
    case Type::kNone: break;
  }
  return 0;
}

constexpr std::string_view text_of(Type type) {
  switch (type) {
#define X(name, text, bytes) \
  case Type::name: return text;
    DHPVM_PTX_TYPES(X)
#undef X
    case Type::kNone: break;
  }
  return "no type";
}

constexpr bool is_signed(Type type) {
  return type == Type::kS8 || type == Type::kS16 || type == Type::kS32 || type == Type::kS64;
}
constexpr bool is_float(Type type) { return type == Type::kF32 || type == Type::kF64; }
constexpr bool is_half_pair(Type type) { return type == Type::kF16x2 || type == Type::kBF16x2; }
// A 16-bit floating-point number, or a pair of them.
constexpr bool is_half(Type type) { return type == Type::kF16 || type == Type::kBF16 || is_half_pair(type); }

enum class Space : std::uint8_t { kGeneric, kGlobal, kConst, kShared, kLocal, kParam };

constexpr std::string_view text_of(Space space) {
  switch (space) {
    case Space::kGeneric: return "generic";
    case Space::kGlobal: return "global";
    case Space::kConst: return "const";
    case Space::kShared: return "shared";
    case Space::kLocal: return "local";
    case Space::kParam: return "param";
  }
  return "";
}

// Generic addresses of shared and local memory lie in windows that no allocation of the host can reach.
inline constexpr std::uint64_t kSharedWindow = std::uint64_t{0xfe} << 56;
inline constexpr std::uint64_t kLocalWindow = std::uint64_t{0xfd} << 56;
inline constexpr std::uint64_t kFunctionWindow = std::uint64_t{0xfc} << 56;  // with the function's number
inline constexpr std::uint64_t kWindowMask = std::uint64_t{0xff} << 56;

enum class Rounding : std::uint8_t {
  kNone,
  kNearest,
  kZero,
  kDown,
  kUp,
  kNearestInt,
  kZeroInt,
  kDownInt,
  kUpInt
};

struct Extent {
  std::uint32_t x = 1;
  std::uint32_t y = 1;
  std::uint32_t z = 1;
  std::uint64_t count() const { return std::uint64_t{x} * y * z; }
};

}  // namespace dhpvm::ptx
