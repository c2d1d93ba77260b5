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

// An operand's place in local memory: a row behind the other, with `pitch` elements for each. Where tiles are moved
// aside there is room for two, `plane` elements apart.
struct Tile {
  const TiledOperand* operand = nullptr;
  llvm::GlobalVariable* memory = nullptr;
  unsigned turns = 0;  // a power of two
  unsigned pitch = 0;
  unsigned plane = 0;
};

// The part of a tile that has elements: `columns` turns from turn `begin` on.
struct TilePart {
  llvm::Value* begin = nullptr;
  llvm::Value* columns = nullptr;
  llvm::Value* room = nullptr;  // which of a tile's two places it lies in, 0 or 1; null: the only one
};

// How a work-item loads what it fetches of a tile, where that is possible.
enum class Fetching : std::uint8_t { kOneByOne, kAtOnce };

// Addresses of the first element that a work-item fetches.
struct ShareBegin {
  llvm::Value* from = nullptr;
  llvm::Value* to = nullptr;  // in local memory, for all tiles
};

class TileCopier {
 public:
  virtual ~TileCopier() = default;
  // The bytes of an operand's tile in local memory.
  virtual std::uint64_t bytes(const TiledOperand& operand) const = 0;
  // `memory` has as many.
  virtual Tile tile_of(const TiledOperand& operand, llvm::GlobalVariable* memory) const = 0;
  // Whether this work-item has an iteration.
  virtual llvm::Value* exists() const = 0;
  // The place of this work-item's element for a turn of the tile; `room` as in TilePart.
  virtual llvm::Value* own_element(const Tile& tile, llvm::Value* turn, llvm::Value* room) = 0;
  // Code that goes on in a new block. No barriers: they are the caller's.
  virtual void fill(const Tile& tile, const TilePart& part) = 0;
  virtual void drain(const Tile& tile, const TilePart& part) = 0;
  // Elements of a whole tile that each work-item loads before the turns of the tile before it, and puts into local
  // memory after them, in the place of fill(). 0: none; otherwise all work-items have iterations, and nothing is
  // drained.
  virtual unsigned fetched_ahead() const { return 0; }
  // Whether each work-item can fetch at once what it fetches of each tile, as far as that is ever possible; the same
  // for all of the group. Null: it never is.
  virtual llvm::Value* can_fetch_at_once(llvm::ArrayRef<Tile> /*tiles*/) { return nullptr; }
  // The addresses for the tile that begins at turn 0.
  virtual ShareBegin begin_of_share(const Tile& /*tile*/, Fetching /*how*/) { return {}; }
  virtual llvm::SmallVector<llvm::Value*> fetch(const Tile& /*tile*/, Fetching /*how*/,
                                                llvm::Value* /*begin*/) {
    return {};
  }
  // `to`: as in ShareBegin.
  virtual void put(const Tile& /*tile*/, Fetching /*how*/, llvm::Value* /*to*/,
                   llvm::ArrayRef<llvm::Value*> /*elements*/) {}
  // Whether this work-item is one of those that call fill() and drain() while others do the turns of the tile in
  // between. Null: all of them call both, and nobody does turns then.
  virtual llvm::Value* moves_aside() const { return nullptr; }
};

// The tiles of a group's rows.
struct RowTiles {
  std::uint32_t rows = 0;    // of the largest group
  unsigned pieces = 1;       // a row of a tile has as many times turns_of_tile() turns; a power of two
  bool moved_aside = false;  // work-items that have no row move the tiles: two of each operand
};

std::uint64_t bytes_of_rows(const TiledOperand& operand, RowTiles tiles);

class RowCopier final : public TileCopier {
 public:
  // Emits what is known of the work-item where the builder stands: at the function's begin.
  RowCopier(llvm::IRBuilder<>& builder, const GroupIterations& iterations, RowTiles tiles);

  std::uint64_t bytes(const TiledOperand& operand) const override { return bytes_of_rows(operand, tiles_); }
  Tile tile_of(const TiledOperand& operand, llvm::GlobalVariable* memory) const override;
  llvm::Value* exists() const override { return exists_; }
  llvm::Value* own_element(const Tile& tile, llvm::Value* turn, llvm::Value* room) override;
  llvm::Value* moves_aside() const override { return moves_; }
  void fill(const Tile& tile, const TilePart& part) override { copy(tile, part, /*fills=*/true); }
  void drain(const Tile& tile, const TilePart& part) override { copy(tile, part, /*fills=*/false); }

 private:
  struct Element {
    llvm::Value* row;
    unsigned ahead;  // of the column that this work-item begins with
    llvm::Value* column;
    llvm::Value* exists;
    llvm::Value* row_exists;
  };

  // Whether the tile's rows differ in the last index alone, so that a group has as many as work-items along axis 0.
  bool has_row_for_column(const TiledOperand& operand) const;
  void copy(const Tile& tile, const TilePart& part, bool fills);
  llvm::Value* begin_of_row(const Tile& tile, llvm::Value* row, llvm::Value*& exists);
  llvm::Value* address_of(const Tile& tile, const TilePart& part, llvm::Value* row, llvm::Value* column,
                          llvm::Value*& exists);
  llvm::Value* place_of(const Tile& tile, const TilePart& part, llvm::Value* row, llvm::Value* column);
  llvm::Value* element_at(const Tile& tile, llvm::Value* place, llvm::Value* room);
  void load(const Tile& tile, const TilePart& part, llvm::Value* rows, llvm::ArrayRef<Element> elements);
  llvm::SmallVector<llvm::Value*> sure_addresses(const Tile& tile, const TilePart& part, llvm::Value* rows,
                                                 llvm::ArrayRef<Element> elements);
  void store(const Tile& tile, const TilePart& part, llvm::ArrayRef<Element> elements);
  void where(llvm::Value* condition, llvm::function_ref<void()> inside);
  llvm::BasicBlock* block(const char* name);

  llvm::IRBuilder<>& b_;
  const GroupIterations& iterations_;
  const RowTiles tiles_;
  // Numbers of 32 bits. By axis: 0 is the last dimension.
  std::array<llvm::Value*, 3> sizes_ = {};
  llvm::Value* across_ = nullptr;  // this work-item's number along axis 0
  llvm::Value* item_ = nullptr;    // and in the group
  llvm::Value* items_ = nullptr;   // of the group
  llvm::Value* exists_ = nullptr;
  llvm::Value* moves_ = nullptr;  // null: all do
  // Among the runs of work-items that move tiles.
  llvm::Value* run_ = nullptr;
  llvm::Value* runs_ = nullptr;
};

}  // namespace dhpvm::codegen
