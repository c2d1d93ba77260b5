// SPDX-License-Identifier: Apache-2.0
// Stores of vectors wider than a register.
#pragma once

namespace llvm {
class Module;
class TargetMachine;
}  // namespace llvm

namespace dhpvm::codegen {

// Splits every store of several registers into one store for each, in the order of their addresses. LLVM would split
// them in any order: if a row does not begin at a cache line, each line is then fetched twice, and loops that are
// bound by stores take up to 1.7 times as long.
void split_wide_stores(llvm::Module& module, llvm::TargetMachine& machine);

}  // namespace dhpvm::codegen
