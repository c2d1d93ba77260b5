// SPDX-License-Identifier: Apache-2.0
// Register tiles: several rows of lanes at once.
//
// A loop over two dimensions has lanes along the inner one. Where neighbouring rows load the same vectors in their
// inner loops, as a product of matrices does, one function does several of them together and loads once for all
// ("unroll and jam"). Each row keeps accumulators of its own, so that every sum stays in its order.
#pragma once

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/IR/Instructions.h>

#include <vector>

#include "codegen/spmd/vectorize.h"

namespace dhpvm::codegen::spmd {

// The values that differ from row to row: everything that is computed from the index, argument `row`, and all stores,
// which keep the order that they have within each row. Elements of other iterations may be read once.
class RowDependence {
 public:
  RowDependence(llvm::Function& function, unsigned row);
  bool differs(const llvm::Instruction& instruction) const { return found_.contains(&instruction); }

 private:
  llvm::SmallPtrSet<const llvm::Instruction*, 32> found_;
};

struct RowTile {
  unsigned rows = 1;   // 1: rows are done one after the other
  unsigned width = 0;  // lanes along each of them, at most
};

// The tile that suits the prepared function `scalar`, whose argument `row` is the index of the dimension around that of
// the lanes. It has several rows where branches do not depend on the row, and an inner loop loads vectors that all rows
// share and carries vectors that each row has for itself.
RowTile choose_row_tile(const llvm::Function& scalar, const std::vector<ArgShape>& args, unsigned row,
                        unsigned vector_bits);

// Adds a function that does what `wide`, a vector form of such a function, does for the rows from argument `row` on,
// which are `step` apart. A trap is reported for the first row alone: it happens in all of them or in none. Null where
// branches depend on the row after all.
llvm::Function* tile_rows(llvm::Function& wide, unsigned row, unsigned rows, unsigned step = 1);

}  // namespace dhpvm::codegen::spmd
