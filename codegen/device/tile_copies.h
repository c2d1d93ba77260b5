// SPDX-License-Identifier: Apache-2.0
// Code that moves tiles between the rows of a group's iterations and its local memory. All work-items of a group move
// their tiles together, neighbours neighbouring elements of a row.
#pragma once

#include <llvm/IR/GlobalVariable.h>
#include <llvm/IR/IRBuilder.h>

#include <array>
#include <cstdint>

#include "codegen/device/tile_plan.h"

namespace dhpvm::codegen {

// The iterations of a group: arguments of a tiled body, by dimension (tile_loops.h).
struct GroupIterations {
  unsigned dimensions = 1;
  bool has_runs = false;  // in the dimension before the last one, in which all have the same index then
  std::array<llvm::Value*, 3> first = {};
  std::array<llvm::Value*, 3> count = {};
};

// An operand's place in local memory: a row behind the other, with `pitch` elements for each.
struct Tile {
  const TiledOperand* operand = nullptr;
  llvm::GlobalVariable* memory = nullptr;
  unsigned turns = 0;  // of a row, a power of two
  unsigned pitch = 0;
};

// The bytes of an operand's tile with `rows` rows.
std::uint64_t bytes_of_tile(const TiledOperand& operand, std::uint32_t rows);
// `memory` has room for a row for each work-item of the largest group.
Tile tile_of(const TiledOperand& operand, llvm::GlobalVariable* memory);

// The part of a tile that has elements: `columns` turns from turn `begin` on.
struct TilePart {
  llvm::Value* begin = nullptr;
  llvm::Value* columns = nullptr;
};

class TileCopier {
 public:
  // Emits what is known of the work-item where the builder stands: at the function's begin.
  TileCopier(llvm::IRBuilder<>& builder, const GroupIterations& iterations);

  // Whether this work-item has an iteration.
  llvm::Value* exists() const { return exists_; }
  // The place of this work-item's element in a column of the tile.
  llvm::Value* own_element(const Tile& tile, llvm::Value* column);
  // Loops that go on in a new block. No barriers: they are the caller's.
  void fill(const Tile& tile, const TilePart& part) { copy(tile, part, /*fills=*/true); }
  void drain(const Tile& tile, const TilePart& part) { copy(tile, part, /*fills=*/false); }

 private:
  // Whether the tile's rows differ in the last index alone, so that a group has as many as work-items along axis 0.
  bool has_row_for_column(const TiledOperand& operand) const;
  void copy(const Tile& tile, const TilePart& part, bool fills);
  llvm::Value* begin_of_row(const Tile& tile, llvm::Value* row, llvm::Value*& exists);
  void copy_element(const Tile& tile, const TilePart& part, llvm::Value* row, llvm::Value* column,
                    bool fills);

  llvm::IRBuilder<>& b_;
  const GroupIterations& iterations_;
  // Numbers of 32 bits. By axis: 0 is the last dimension.
  std::array<llvm::Value*, 3> sizes_ = {};
  llvm::Value* across_ = nullptr;  // this work-item's number along axis 0
  llvm::Value* item_ = nullptr;    // and in the group
  llvm::Value* items_ = nullptr;   // of the group
  llvm::Value* exists_ = nullptr;
};

}  // namespace dhpvm::codegen
