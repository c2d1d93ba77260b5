// SPDX-License-Identifier: Apache-2.0
// A loop's body whose inner loops access memory by tiles in local memory, as tile_plan.h says.
//
// All work-items of a group call it together, also those that have no iteration, because they help to move tiles and
// wait at barriers. It has more arguments than the body that it is made from, behind those of that one:
//
//   ..body(..as before.., {i64 first, i64 count} for each dimension[, i64 turns])
//
// `first` is the index of the iteration that the group's first work-item has in the dimension, and `count` says how
// many of them have one. A body with runs does `turns` iterations, the same number in the whole group, from the given
// index in the dimension before the last one, in which a group has one work-item. Groups have a multiple of 32
// work-items.
#pragma once

#include <cstdint>

#include "codegen/lower/kernel_lowering.h"

namespace dhpvm::codegen {

// The iterations of a run, at most: a tile of them is as wide as it is long.
inline constexpr std::uint32_t kRunOfRows = 32;

struct TiledBody {
  llvm::Function* function = nullptr;  // null: nothing of the body would get faster
  std::uint32_t group = 0;             // work-items of a group, at most
  std::uint32_t run = 1;               // kRunOfRows: with runs
  std::uint32_t items = 1;             // for each iteration along the last dimension
};

// The body stays as it is. Its kernel has no reductions and cannot trap.
TiledBody tile_body(const KernelBody& body, unsigned dimensions);

}  // namespace dhpvm::codegen
