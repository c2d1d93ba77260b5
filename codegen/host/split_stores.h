// SPDX-License-Identifier: Apache-2.0
// Stores of vectors that are wider than a register.
#pragma once

namespace llvm {
class Module;
class TargetMachine;
}  // namespace llvm

namespace dhpvm::codegen {

// Makes of every store of several registers one store for each, in the order of their addresses. LLVM divides such
// stores itself, but in any order: where a row does not begin at a cache line, its stores then fill lines of which each
// is fetched twice, and loops that are bound by them take up to 1.7 times as long.
void split_wide_stores(llvm::Module& module, llvm::TargetMachine& machine);

}  // namespace dhpvm::codegen
