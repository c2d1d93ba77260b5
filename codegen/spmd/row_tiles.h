// SPDX-License-Identifier: Apache-2.0
// Register tiles: several rows of lanes together.
//
// A loop over two dimensions has lanes along the inner one. If neighbouring rows load the same vectors in their inner
// loops, as in a product of matrices, one function runs several rows together and shares the loads ("unroll and jam").
// Each row keeps its own accumulators, so that the order of every sum is unchanged.
#pragma once

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/IR/Instructions.h>

#include <vector>

#include "codegen/spmd/vectorize.h"

namespace dhpvm::codegen::spmd {

// The values that differ from row to row: everything computed from the index, argument `row`, and all stores, which
// keep their order within each row. Elements that other iterations read may be loaded once.
class RowDependence {
 public:
  RowDependence(llvm::Function& function, unsigned row);
  bool differs(const llvm::Instruction& instruction) const { return found_.contains(&instruction); }

 private:
  llvm::SmallPtrSet<const llvm::Instruction*, 32> found_;
};

struct RowTile {
  unsigned rows = 1;   // 1: one row at a time
  unsigned width = 0;  // maximal number of lanes along each row
};

// The tile for the prepared function `scalar`, whose argument `row` is the index of the dimension around that of the
// lanes. It has several rows if branches do not depend on the row, and if an inner loop loads vectors that all rows
// share and carries vectors for each row.
RowTile choose_row_tile(const llvm::Function& scalar, const std::vector<ArgShape>& args, unsigned row,
                        unsigned vector_bits);

// Adds a function that runs `wide`, a vector form of such a function, for `rows` rows from argument `row` on, `step`
// apart. It reports a trap for the first row only: it occurs in all of them or in none. Null if branches depend on the
// row after all.
llvm::Function* tile_rows(llvm::Function& wide, unsigned row, unsigned rows, unsigned step = 1);

}  // namespace dhpvm::codegen::spmd
