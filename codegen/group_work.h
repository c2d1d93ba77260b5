// SPDX-License-Identifier: Apache-2.0
// Numbers that kernels and the grids of their launches agree on, where the work-items of a group work together.
#pragma once

#include <cstdint>

namespace dhpvm::codegen {

// Work-items that a GPU runs together. Groups that move tiles are made of whole runs of them, groups are not made
// smaller for more processors to have one, and rows are cut at multiples of it, so that the accesses of those that run
// together begin where memory's sectors do.
inline constexpr std::uint32_t kWarp = 32;

// Kernels with squares: a group of kSquareGroup by kSquareGroup work-items does a square of iterations in the last two
// dimensions, each work-item kSquareRows by kSquareColumns of them. Such a kernel takes any other grid as well, and
// does squares that are not whole iteration by iteration.
inline constexpr std::uint32_t kSquareGroup = 16;
inline constexpr std::uint32_t kSquareItems = kSquareGroup * kSquareGroup;
inline constexpr std::uint32_t kSquareRows = 4;
inline constexpr std::uint32_t kSquareColumns = kSquareRows;
inline constexpr std::uint32_t kSquareSide = kSquareGroup * kSquareRows;

// Groups that share blocks of reductions may be one fewer than blocks in each row of blocks, if they have so many runs
// of bytecode::kReductionLanes work-items: the last two blocks of a row are one group's then. With fewer runs, there
// could be as many groups where each run does a block alone.
inline constexpr std::uint32_t kLeastRunsForTwo = 4;

// Iterations of one dimension that each go along a row of their own have so many work-items each: the first of a group
// do the iterations, and all move what those need between memory and local memory.
inline constexpr std::uint32_t kItemsForRow = 8;

}  // namespace dhpvm::codegen
