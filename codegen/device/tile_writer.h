// SPDX-License-Identifier: Apache-2.0
// Carries out a plan of tiles: the loops' accesses go to a group's local memory, which is filled before and drained
// after the turns of each tile.
#pragma once

#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/IR/IRBuilder.h>

#include <cstdint>

#include "codegen/device/tile_copies.h"
#include "codegen/device/tile_plan.h"

namespace dhpvm::codegen {

// Bytes of local memory that a group may have, of the 48 KiB of CUDA.
inline constexpr std::uint64_t kMostTileMemory = 40 << 10;

// The local memory of a plan: loops use the same one after the other. `bytes`: of an operand's tile.
std::uint64_t memory_of(const TilePlan& plan, llvm::function_ref<std::uint64_t(const TiledOperand&)> bytes);

// `plan` is one for the function. `builder` stands at the plan's begin.
void write_tiles(llvm::Function& function, const TilePlan& plan, TileCopier& copier,
                 llvm::IRBuilder<>& builder);

}  // namespace dhpvm::codegen
