// SPDX-License-Identifier: Apache-2.0
// Tiles of operands that the iterations of a square share: all rows that the square needs, for some turns. A row is
// what one index of the square selects.
#pragma once

#include "codegen/device/tile_copies.h"

namespace dhpvm::codegen {

class SquareCopier final : public TileCopier {
 public:
  // `places`: this work-item's offsets from the square's first iteration, along both dimensions. All work-items of a
  // square have iterations.
  SquareCopier(llvm::IRBuilder<>& builder, llvm::ArrayRef<llvm::Argument*> places)
      : b_(builder), places_(places) {}

  std::uint64_t bytes(const TiledOperand& operand) const override;
  Tile tile_of(const TiledOperand& operand, llvm::GlobalVariable* memory) const override;
  llvm::Value* exists() const override { return b_.getTrue(); }
  llvm::Value* own_element(const Tile& tile, llvm::Value* turn, llvm::Value* room) override;
  unsigned fetched_ahead() const override;
  llvm::Value* can_fetch_at_once(llvm::ArrayRef<Tile> tiles) override;
  ShareBegin begin_of_share(const Tile& tile, Fetching how) override;
  llvm::SmallVector<llvm::Value*> fetch(const Tile& tile, Fetching how, llvm::Value* begin) override;
  // In a separate function, which is called once for all iterations of a work-item.
  void put(const Tile& tile, Fetching how, llvm::Value* to, llvm::ArrayRef<llvm::Value*> elements) override;
  void fill(const Tile& tile, const TilePart& part) override;
  // Squares share no stores.
  void drain(const Tile& /*tile*/, const TilePart& /*part*/) override {}

 private:
  // Declares a function without results, and calls it.
  llvm::Function* declare(const char* name, llvm::ArrayRef<llvm::Value*> arguments);

  llvm::IRBuilder<>& b_;
  llvm::ArrayRef<llvm::Argument*> places_;
};

}  // namespace dhpvm::codegen
