// SPDX-License-Identifier: Apache-2.0
// Stores of all sides of a choice to the same element.
#pragma once

namespace llvm {
class Function;
}

namespace dhpvm::codegen::spmd {

// Where several ways to a block end with a store to the same address, one store behind them takes their place: the
// lanes choose the value, and store it together, in place of one store under a mask for each way. Processors without
// AVX-512 do stores under masks element by element.
void join_stores(llvm::Function& function);

}  // namespace dhpvm::codegen::spmd
