// SPDX-License-Identifier: Apache-2.0
// The arithmetic of reductions, on register values: the same for every executor of parallel loops. The order
// in which values are combined is documented at KernelRecord.
#pragma once

#include <cstdint>
#include <span>

#include "bytecode/module.h"

namespace dhpvm::bytecode {

// The identity: 0 for integer +, -0.0 for floating-point + (0.0 would turn -0.0 into 0.0), 1 for *, the largest value
// (infinity) for min, the smallest for max, all ones for &, 0 for | and ^.
std::uint64_t identity(const Reduction& reduction);

// left op right, rounded and wrapped to the kind; min and max choose like the instructions min.* and max.*.
std::uint64_t combine(const Reduction& reduction, std::uint64_t left, std::uint64_t right);

// The value of a block: its lanes combined pairwise. Overwrites them.
std::uint64_t combine_lanes(const Reduction& reduction, std::span<std::uint64_t, kReductionLanes> lanes);

}  // namespace dhpvm::bytecode
