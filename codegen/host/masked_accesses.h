// SPDX-License-Identifier: Apache-2.0
// Masked contiguous accesses for which the processor has no instruction: 8 and 16 bits before AVX-512, and all sizes
// with vectors of 128 bits.
#pragma once

namespace llvm {
class Module;
class TargetMachine;
}  // namespace llvm

namespace dhpvm::codegen {

// A load fetches the whole vector if it lies in one page with an active lane, whose element is readable; a store stores
// the whole vector if all lanes are active. Otherwise LLVM's own expansion follows, which branches on each lane's mask.
void fit_masked_accesses(llvm::Module& module, const llvm::TargetMachine& machine);

}  // namespace dhpvm::codegen
