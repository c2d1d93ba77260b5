// SPDX-License-Identifier: Apache-2.0
// Conversions of numbers that LLVM compiles to slow code on x86-64.
#pragma once

namespace llvm {
class Module;
class TargetMachine;
}  // namespace llvm

namespace dhpvm::codegen {

// Saturating conversions of floats to integers, and of 64-bit integers to floats. LLVM expands their vectors lane by
// lane, with some eight instructions each. The processor's instructions return the least integer for anything that they
// cannot convert, and where 64-bit ones are missing, additions convert integers of at most 51 bits.
void quicken_casts(llvm::Module& module, const llvm::TargetMachine& machine);

}  // namespace dhpvm::codegen
