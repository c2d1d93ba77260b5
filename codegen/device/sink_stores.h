// SPDX-License-Identifier: Apache-2.0
// Stores that a loop does now and then, always to the same place: the last one behind the loop is enough.
#pragma once

#include <llvm/IR/PassManager.h>

namespace dhpvm::codegen {

// `if (distance < best) { best = distance; nearest[i] = c; }` in a loop over c becomes a choice of two
// values, without a branch, and one store where the loop ends if there has been one inside. LLVM leaves such
// a store where it is, since others may read the place at the same time. That iterations of a `parallel for`
// do not do to each other, and what orders their accesses, like an atomic update, keeps a loop as it is.
class SinkStoresPass : public llvm::PassInfoMixin<SinkStoresPass> {
 public:
  static constexpr char kName[] = "dhpvm-sink-stores";
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

}  // namespace dhpvm::codegen
