// SPDX-License-Identifier: Apache-2.0
// Brings control flow into the form that vectorize requires.
#pragma once

namespace llvm {
class Function;
}

namespace dhpvm::codegen::spmd {

// One return, no unreachable blocks, no critical edges, loops in simplified and loop-closed form. The control flow must
// be reducible.
void bring_into_form(llvm::Function& function);

}  // namespace dhpvm::codegen::spmd
