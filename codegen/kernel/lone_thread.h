// SPDX-License-Identifier: Apache-2.0
// Atomic updates of kernels that one thread runs alone (KernelChunk::alone).
#pragma once

namespace llvm {
class Function;
}  // namespace llvm

namespace dhpvm::codegen {

// Gives `kernel`, a KernelCode, a second form in which atomic updates are plain ones, and asks the chunk which of them
// runs. Nothing happens where there are no such updates.
void serve_lone_thread(llvm::Function& kernel);

}  // namespace dhpvm::codegen
