// SPDX-License-Identifier: Apache-2.0
// Merges stores to the same element on all paths of a branch.
#pragma once

namespace llvm {
class Function;
}

namespace dhpvm::codegen::spmd {

// If several predecessors of a block end with a store to the same address, one store after the join replaces them: a
// phi selects the value, and the lanes store together, in place of one masked store on each path. Processors without
// AVX-512 execute masked stores element by element.
void join_stores(llvm::Function& function);

}  // namespace dhpvm::codegen::spmd
