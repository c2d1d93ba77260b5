// SPDX-License-Identifier: Apache-2.0
// Unrolls inner loops of kernels of one lane.
#pragma once

namespace llvm {
class Function;
class TargetMachine;
}  // namespace llvm

namespace dhpvm::codegen {

// Unrolls small inner loops, also those with several exits, such as failing checks. A copy in front of the loop runs as
// many turns as can be done several at a time, without testing for the end in between. Turns and checks keep their
// order. Loops whose number of turns is loaded from an array are often short: they are not unrolled, but get a second
// copy without the bounds checks of their counter, for when all turns would pass them.
void unroll_small_loops(llvm::Function& function, const llvm::TargetMachine& machine);

}  // namespace dhpvm::codegen
