// SPDX-License-Identifier: Apache-2.0
// Conversions of numbers for which LLVM has slow code on x86-64.
#pragma once

namespace llvm {
class Module;
class TargetMachine;
}  // namespace llvm

namespace dhpvm::codegen {

// Floats to integers that saturate, and integers of 64 bits to floats. LLVM takes vectors apart for them, with some
// eight instructions for each lane. The processor's instructions give the least integer for all that they cannot
// convert, and where they lack 64 bits, additions convert what has at most 51.
void quicken_casts(llvm::Module& module, const llvm::TargetMachine& machine);

}  // namespace dhpvm::codegen
