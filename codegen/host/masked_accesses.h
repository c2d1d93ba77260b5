// SPDX-License-Identifier: Apache-2.0
// Accesses under a mask to neighbouring elements for which the processor has no instruction: of bytes and of 16 bits
// before AVX-512, and of everything with vectors of 128 bits.
#pragma once

namespace llvm {
class Module;
class TargetMachine;
}  // namespace llvm

namespace dhpvm::codegen {

// A load fetches the whole vector where it lies in one page with an active lane, whose element can be read; a store
// stores the whole vector where all lanes are active. Otherwise LLVM's own expansion follows, which branches on the
// mask of each lane.
void fit_masked_accesses(llvm::Module& module, const llvm::TargetMachine& machine);

}  // namespace dhpvm::codegen
