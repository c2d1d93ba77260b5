// SPDX-License-Identifier: Apache-2.0
// A loop's body whose inner loops access memory through tiles in local memory; see tile_plan.h.
//
// All work-items of a group call it together, even those without an iteration, because they help to move tiles and wait
// at barriers. It has the arguments of the original body, followed by more:
//
//   ..body(..as before.., {i64 first, i64 count} for each dimension[, i64 turns])
//
// `first` is the index of the group's first work-item in the dimension, and `count` is the number of its work-items
// that have an iteration. A body with runs does `turns` iterations, the same number in the whole group, starting with
// the given index in the dimension before the last one, in which a group has one work-item. The size of a group is a
// multiple of 32.
#pragma once

#include <cstdint>

#include "codegen/lower/kernel_lowering.h"

namespace dhpvm::codegen {

// The maximal number of iterations in a run: a tile of them is as wide as it is long.
inline constexpr std::uint32_t kRunOfRows = 32;

struct TiledBody {
  llvm::Function* function = nullptr;  // null: nothing in the body would be faster
  std::uint32_t group = 0;             // maximal number of work-items in a group
  std::uint32_t run = 1;               // kRunOfRows: with runs
  std::uint32_t items = 1;             // for each iteration along the last dimension
};

// The original body is unchanged. Its kernel has no reductions and cannot trap.
TiledBody tile_body(const KernelBody& body, unsigned dimensions);

}  // namespace dhpvm::codegen
