// SPDX-License-Identifier: Apache-2.0
// Gathers and scatters for which the processor has no instruction, or none that is faster than single accesses.
#pragma once

namespace llvm {
class Module;
class TargetMachine;
}  // namespace llvm

namespace dhpvm::codegen {

// Gathers of bytes and of 16 bits become gathers of words where the processor has those. All others become scalar loads
// and stores without branches: an inactive lane accesses a place on the stack in place of its own. LLVM's own expansion
// branches on the mask of each lane, and on what data decides such branches are foretold wrongly; it also computes
// addresses as vectors of 64 bits, where a scalar access takes a narrow index and scales it for nothing.
void fit_gathers(llvm::Module& module, const llvm::TargetMachine& machine);

}  // namespace dhpvm::codegen
