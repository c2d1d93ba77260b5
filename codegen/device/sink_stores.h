// SPDX-License-Identifier: Apache-2.0
// Sinks conditional stores to a loop-invariant address out of the loop.
#pragma once

#include <llvm/IR/PassManager.h>

namespace dhpvm::codegen {

// `if (distance < best) { best = distance; nearest[i] = c; }` in a loop over c becomes a select without a branch, and
// one store after the loop, if the condition has held. LLVM does not move such a store, since another thread may read
// the address at the same time. Iterations of a `parallel for` must not do so; a loop with ordered accesses, such as
// atomic updates, is unchanged.
class SinkStoresPass : public llvm::PassInfoMixin<SinkStoresPass> {
 public:
  static constexpr char kName[] = "dhpvm-sink-stores";
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

}  // namespace dhpvm::codegen
