// SPDX-License-Identifier: Apache-2.0
// Atomic updates of kernels that a single thread runs (KernelChunk::alone).
#pragma once

namespace llvm {
class Function;
}  // namespace llvm

namespace dhpvm::codegen {

// Gives `kernel`, a KernelCode, a second version with non-atomic updates, and selects the version by the chunk. Does
// nothing if there are no atomic updates.
void serve_lone_thread(llvm::Function& kernel);

}  // namespace dhpvm::codegen
