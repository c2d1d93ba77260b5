// SPDX-License-Identifier: Apache-2.0
// Special registers: the position of a thread, its lane masks and the clock.
#pragma once

#include <cstdint>

namespace dhpvm::ptx {

#define DHPVM_PTX_SPECIALS(X) \
  X(kTidX, "%tid.x")          \
  X(kTidY, "%tid.y")          \
  X(kTidZ, "%tid.z")          \
  X(kNtidX, "%ntid.x")        \
  X(kNtidY, "%ntid.y")        \
  X(kNtidZ, "%ntid.z")        \
  X(kCtaidX, "%ctaid.x")      \
  X(kCtaidY, "%ctaid.y")      \
  X(kCtaidZ, "%ctaid.z")      \
  X(kNctaidX, "%nctaid.x")    \
  X(kNctaidY, "%nctaid.y")    \
  X(kNctaidZ, "%nctaid.z")    \
  X(kLaneid, "%laneid")       \
  X(kWarpid, "%warpid")       \
  X(kNwarpid, "%nwarpid")     \
  X(kLaneEq, "%lanemask_eq")  \
  X(kLaneLe, "%lanemask_le")  \
  X(kLaneLt, "%lanemask_lt")  \
  X(kLaneGe, "%lanemask_ge")  \
  X(kLaneGt, "%lanemask_gt")  \
  X(kClock, "%clock")

// Numbered from 1; 0 means none.
enum class Special : std::uint8_t {
  kNoSpecial = 0,
#define X(name, text) name,
  DHPVM_PTX_SPECIALS(X)
#undef X
};

}  // namespace dhpvm::ptx
