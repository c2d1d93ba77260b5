// SPDX-License-Identifier: Apache-2.0
// Inner loops of kernels that do one iteration at a time.
#pragma once

namespace llvm {
class Function;
class TargetMachine;
}  // namespace llvm

namespace dhpvm::codegen {

// Unrolls small inner loops, also those that are left in several places, as by a check that fails. In front of the loop
// comes a copy for as many turns as can be done several at a time, without a test for the end in between. Turns and
// checks keep their order. Loops whose number of turns comes from an element of an array are often short: they are not
// unrolled, but have a second copy without the bounds checks of their counter, for when all turns would pass them.
void unroll_small_loops(llvm::Function& function, const llvm::TargetMachine& machine);

}  // namespace dhpvm::codegen
