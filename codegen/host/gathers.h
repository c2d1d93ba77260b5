// SPDX-License-Identifier: Apache-2.0
// Gathers and scatters for which the processor has no instruction, or only one that is slower than scalar accesses.
#pragma once

namespace llvm {
class Module;
class TargetMachine;
}  // namespace llvm

namespace dhpvm::codegen {

// Turns gathers of 8 and 16 bits into gathers of words if the processor has those. Expands all others to scalar loads
// and stores without branches: an inactive lane accesses a dummy on the stack instead. LLVM's own expansion branches on
// each lane's mask, which mispredicts if the mask depends on data; it also computes addresses as vectors of 64 bits,
// while a scalar access scales a narrow index for free.
void fit_gathers(llvm::Module& module, const llvm::TargetMachine& machine);

}  // namespace dhpvm::codegen
