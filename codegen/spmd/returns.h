// SPDX-License-Identifier: Apache-2.0
// One return for a function that has several.
#pragma once

namespace llvm {
class Function;
}

namespace dhpvm::codegen::spmd {

// Returned values are merged element by element: the elements of a struct get separate phis, so that uniform ones stay
// scalars, and there is no phi of a struct.
void merge_returns(llvm::Function& function);

}  // namespace dhpvm::codegen::spmd
