// SPDX-License-Identifier: Apache-2.0
// Executes a plan of tiles: the loops' accesses use a group's local memory, which is filled before the turns of each
// tile and drained after them.
#pragma once

#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/IR/IRBuilder.h>

#include <cstdint>

#include "codegen/device/tile_copies.h"
#include "codegen/device/tile_plan.h"

namespace dhpvm::codegen {

// The limit of a group's local memory in bytes, of the 48 KiB that CUDA allows.
inline constexpr std::uint64_t kMostTileMemory = 40 << 10;

// The local memory of a plan: consecutive loops share it. `bytes`: the size of an operand's tile.
std::uint64_t memory_of(const TilePlan& plan, llvm::function_ref<std::uint64_t(const TiledOperand&)> bytes);

// `plan` was made for the function. `builder` is at the plan's begin.
void write_tiles(llvm::Function& function, const TilePlan& plan, TileCopier& copier,
                 llvm::IRBuilder<>& builder);

}  // namespace dhpvm::codegen
