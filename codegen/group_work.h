// SPDX-License-Identifier: Apache-2.0
// Constants shared by kernels whose work-items cooperate and by the grids of their launches.
#pragma once

#include <cstdint>

namespace dhpvm::codegen {

// The work-items that a GPU runs in lockstep. Groups that move tiles consist of whole warps, groups are not made
// smaller to occupy more processors, and rows are cut at multiples of it, so that a warp's accesses start at sector
// boundaries.
inline constexpr std::uint32_t kWarp = 32;

// Kernels with squares: a group of kSquareGroup by kSquareGroup work-items runs a square of iterations in the last two
// dimensions, each work-item kSquareRows by kSquareColumns of them. Such a kernel accepts any other grid as well, and
// runs incomplete squares iteration by iteration.
inline constexpr std::uint32_t kSquareGroup = 16;
inline constexpr std::uint32_t kSquareItems = kSquareGroup * kSquareGroup;
inline constexpr std::uint32_t kSquareRows = 4;
inline constexpr std::uint32_t kSquareColumns = kSquareRows;
inline constexpr std::uint32_t kSquareSide = kSquareGroup * kSquareRows;

// With at least this many runs of bytecode::kReductionLanes work-items, groups that share blocks of reductions may be
// one fewer than blocks in each row of blocks: one group takes the last two blocks of a row. With fewer runs, there
// could be as many groups where each run processes a block alone.
inline constexpr std::uint32_t kLeastRunsForTwo = 4;

// The number of work-items for each iteration in a loop of one dimension where each iteration walks along its own row:
// the first ones of a group run the iterations, and all move operands between memory and local memory.
inline constexpr std::uint32_t kItemsForRow = 8;

}  // namespace dhpvm::codegen
