// SPDX-License-Identifier: Apache-2.0
// Code that moves tiles between the rows of a group's iterations and its local memory. All work-items of a group move
// tiles together, and neighbours move neighbouring elements of a row.
#pragma once

#include <llvm/IR/GlobalVariable.h>
#include <llvm/IR/IRBuilder.h>

#include <array>
#include <cstdint>

#include "codegen/device/tile_plan.h"

namespace dhpvm::codegen {

// The group's iterations by dimension: arguments of a tiled body (tile_loops.h).
struct GroupIterations {
  unsigned dimensions = 1;
  bool has_runs = false;  // in the dimension before the last one, in which all have the same index then
  std::array<llvm::Value*, 3> first = {};
  std::array<llvm::Value*, 3> count = {};
};

// An operand's buffer in local memory: rows one after the other, `pitch` elements apart. With double buffering there
// are two buffers, `plane` elements apart.
struct Tile {
  const TiledOperand* operand = nullptr;
  llvm::GlobalVariable* memory = nullptr;
  unsigned turns = 0;  // a power of two
  unsigned pitch = 0;
  unsigned plane = 0;
};

// The part of a tile that has elements: `columns` turns, starting with turn `begin`.
struct TilePart {
  llvm::Value* begin = nullptr;
  llvm::Value* columns = nullptr;
  llvm::Value* room = nullptr;  // which of a tile's two buffers holds it, 0 or 1; null: the only one
};

// How a work-item loads its share of a tile: element by element, or by one wide load if the tile is one for which that
// is ever possible.
enum class Fetching : std::uint8_t { kOneByOne, kAtOnce };

// The addresses of the first element that a work-item fetches.
struct ShareBegin {
  llvm::Value* from = nullptr;
  llvm::Value* to = nullptr;  // in local memory, for all tiles
};

class TileCopier {
 public:
  virtual ~TileCopier() = default;
  // The size of an operand's tile in local memory, in bytes.
  virtual std::uint64_t bytes(const TiledOperand& operand) const = 0;
  // The tile in `memory`, which has that size.
  virtual Tile tile_of(const TiledOperand& operand, llvm::GlobalVariable* memory) const = 0;
  // Whether this work-item has an iteration.
  virtual llvm::Value* exists() const = 0;
  // The address of this work-item's element for a turn of the tile; `room` as in TilePart.
  virtual llvm::Value* own_element(const Tile& tile, llvm::Value* turn, llvm::Value* room) = 0;
  // Emits code that continues in a new block. The caller adds the barriers.
  virtual void fill(const Tile& tile, const TilePart& part) = 0;
  virtual void drain(const Tile& tile, const TilePart& part) = 0;
  // For prefetching: the number of elements of a whole tile that each work-item loads before the previous tile's turns
  // and puts into local memory after them, instead of fill(). 0: none; otherwise all work-items have iterations, and
  // there is no drain().
  virtual unsigned fetched_ahead() const { return 0; }
  // Whether each work-item can fetch its share by one wide load, of each tile for which that is ever possible; uniform
  // in the group. Null: there is no such tile.
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
  // Whether this work-item calls fill() and drain() while others compute the turns of the tile in between. Null: all
  // work-items call both, and none computes meanwhile.
  virtual llvm::Value* moves_tiles() const { return nullptr; }
};

// The tiles of a group's rows.
struct RowTiles {
  std::uint32_t rows = 0;  // of the largest group
  unsigned pieces = 1;     // a row of a tile has this many times turns_of_tile() turns; a power of two
  bool is_double_buffered = false;  // work-items without a row move the tiles
};

std::uint64_t bytes_of_rows(const TiledOperand& operand, RowTiles tiles);

class RowCopier final : public TileCopier {
 public:
  // Emits loop-invariant values of the work-item at the builder's position: the function's entry.
  RowCopier(llvm::IRBuilder<>& builder, const GroupIterations& iterations, RowTiles tiles);

  std::uint64_t bytes(const TiledOperand& operand) const override { return bytes_of_rows(operand, tiles_); }
  Tile tile_of(const TiledOperand& operand, llvm::GlobalVariable* memory) const override;
  llvm::Value* exists() const override { return exists_; }
  llvm::Value* own_element(const Tile& tile, llvm::Value* turn, llvm::Value* room) override;
  llvm::Value* moves_tiles() const override { return moves_; }
  void fill(const Tile& tile, const TilePart& part) override { copy(tile, part, /*fills=*/true); }
  void drain(const Tile& tile, const TilePart& part) override { copy(tile, part, /*fills=*/false); }

 private:
  struct Element {
    llvm::Value* row;
    unsigned ahead;  // of the first column of this work-item
    llvm::Value* column;
    llvm::Value* exists;
    llvm::Value* row_exists;
  };

  // Whether the tile's rows differ only in the last index, so that a group has as many as work-items along axis 0.
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
  // 32-bit numbers. By axis: 0 is the last dimension.
  std::array<llvm::Value*, 3> sizes_ = {};
  llvm::Value* across_ = nullptr;  // this work-item's number along axis 0
  llvm::Value* item_ = nullptr;    // and in the group
  llvm::Value* items_ = nullptr;   // the number of work-items in the group
  llvm::Value* exists_ = nullptr;
  llvm::Value* moves_ = nullptr;  // null: all work-items move tiles
  // The number of this work-item's run among those that move tiles.
  llvm::Value* run_ = nullptr;
  llvm::Value* runs_ = nullptr;
};

}  // namespace dhpvm::codegen
