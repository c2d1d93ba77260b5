// SPDX-License-Identifier: Apache-2.0
// Sums of absolute differences of bytes, for which processors of x86-64 have an instruction.
#pragma once

namespace llvm {
class Function;
class TargetMachine;
}  // namespace llvm

namespace dhpvm::codegen {

// Sums absolute differences of vectors of 8, 16 or 32 bytes by that instruction, and adds several such sums before it
// takes them out of their vector. LLVM finds it only if it sees the bytes and their sum in one block, so that a loop
// that keeps one of the operands would lose it.
void join_absolute_differences(llvm::Function& function, const llvm::TargetMachine& machine);

}  // namespace dhpvm::codegen
