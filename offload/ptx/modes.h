// SPDX-License-Identifier: Apache-2.0
// Modifiers that pick one of several meanings of an instruction: comparisons, atomic updates, votes and so on.
#pragma once

#include <cstdint>

namespace dhpvm::ptx {

#define DHPVM_PTX_MODES(X)     \
  X(kEq, "eq")                 \
  X(kNe, "ne")                 \
  X(kLt, "lt")                 \
  X(kLe, "le")                 \
  X(kGt, "gt")                 \
  X(kGe, "ge")                 \
  X(kLo, "lo")                 \
  X(kLs, "ls")                 \
  X(kHi, "hi")                 \
  X(kHs, "hs")                 \
  X(kEqu, "equ")               \
  X(kNeu, "neu")               \
  X(kLtu, "ltu")               \
  X(kLeu, "leu")               \
  X(kGtu, "gtu")               \
  X(kGeu, "geu")               \
  X(kNum, "num")               \
  X(kNan, "nan")               \
  X(kAnd, "and")               \
  X(kOr, "or")                 \
  X(kXor, "xor")               \
  X(kAdd, "add")               \
  X(kMin, "min")               \
  X(kMax, "max")               \
  X(kInc, "inc")               \
  X(kDec, "dec")               \
  X(kExch, "exch")             \
  X(kCas, "cas")               \
  X(kAll, "all")               \
  X(kAny, "any")               \
  X(kUni, "uni")               \
  X(kBallot, "ballot")         \
  X(kUp, "up")                 \
  X(kDown, "down")             \
  X(kBfly, "bfly")             \
  X(kIdx, "idx")               \
  X(kL, "l")                   \
  X(kR, "r")                   \
  X(kWide, "wide")             \
  X(kPopc, "popc")             \
  X(kFinite, "finite")         \
  X(kInfinite, "infinite")     \
  X(kNumber, "number")         \
  X(kNotANumber, "notanumber") \
  X(kNormal, "normal")         \
  X(kSubnormal, "subnormal")

enum class Mode : std::uint8_t {
  kNone,
#define X(name, text) name,
  DHPVM_PTX_MODES(X)
#undef X
};

}  // namespace dhpvm::ptx
