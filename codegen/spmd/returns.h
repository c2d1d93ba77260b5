// SPDX-License-Identifier: Apache-2.0
// One return for a function that has several.
#pragma once

namespace llvm {
class Function;
}

namespace dhpvm::codegen::spmd {

// Returned values are merged element by element: the elements of a structure get phis of their own, so that those on
// which the lanes agree stay scalars, and no phi of a structure comes about.
void merge_returns(llvm::Function& function);

}  // namespace dhpvm::codegen::spmd
