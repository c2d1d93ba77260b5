// SPDX-License-Identifier: Apache-2.0
// Makes accesses to local arrays such as the lanes can do them.
#pragma once

namespace llvm {
class Function;
}

namespace dhpvm::codegen::spmd {

// Replaces each memset, memcpy and memmove of constant length that touches an alloca by a loop over elements
// of the size with which the alloca is accessed otherwise. Local arrays are laid out anew for the lanes,
// where blocks of bytes are no blocks any more.
void expand_local_copies(llvm::Function& function);

}  // namespace dhpvm::codegen::spmd
