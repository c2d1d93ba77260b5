// SPDX-License-Identifier: Apache-2.0
// Prepares accesses to local arrays for vectorisation.
#pragma once

namespace llvm {
class Function;
}

namespace dhpvm::codegen::spmd {

// Replaces each memset, memcpy and memmove of constant length that touches an alloca by a loop over elements of the
// alloca's usual access size. Local arrays get an interleaved layout, where a block of bytes is not contiguous.
void expand_local_copies(llvm::Function& function);

}  // namespace dhpvm::codegen::spmd
