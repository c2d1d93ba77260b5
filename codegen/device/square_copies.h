// SPDX-License-Identifier: Apache-2.0
// Tiles of operands that the iterations of a square share: all rows that the square needs, for some turns. A row is
// what one index of the square selects.
#pragma once

#include "codegen/device/tile_copies.h"

namespace dhpvm::codegen {

class SquareCopier final : public TileCopier {
 public:
  // `places`: this work-item's distances from the square's first iteration, along both dimensions. All of a square's
  // work-items have iterations.
  SquareCopier(llvm::IRBuilder<>& builder, llvm::ArrayRef<llvm::Argument*> places)
      : b_(builder), places_(places) {}

  std::uint64_t bytes(const TiledOperand& operand) const override;
  Tile tile_of(const TiledOperand& operand, llvm::GlobalVariable* memory) const override;
  llvm::Value* exists() const override { return b_.getTrue(); }
  llvm::Value* own_element(const Tile& tile, llvm::Value* turn) override;
  // By a function of its own, which is called once for all iterations of a work-item.
  void fill(const Tile& tile, const TilePart& part) override;
  // Squares share what they load, and store nothing that they share.
  void drain(const Tile& /*tile*/, const TilePart& /*part*/) override {}

 private:
  llvm::IRBuilder<>& b_;
  llvm::ArrayRef<llvm::Argument*> places_;
};

}  // namespace dhpvm::codegen
