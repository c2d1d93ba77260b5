// SPDX-License-Identifier: Apache-2.0
#include "codegen/spmd/canonical_form.h"

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/BreakCriticalEdges.h>
#include <llvm/Transforms/Utils/LCSSA.h>
#include <llvm/Transforms/Utils/Local.h>
#include <llvm/Transforms/Utils/LoopSimplify.h>
#include <llvm/Transforms/Utils/LoopUtils.h>

#include "codegen/spmd/returns.h"

namespace dhpvm::codegen::spmd {

void bring_into_form(llvm::Function& function) {
  llvm::removeUnreachableBlocks(function);
  merge_returns(function);
  llvm::DominatorTree dominators(function);
  llvm::LoopInfo loops(dominators);
  for (llvm::Loop* loop : loops) {
    llvm::simplifyLoop(loop, &dominators, &loops, nullptr, nullptr, nullptr, /*PreserveLCSSA=*/false);
  }
  llvm::SplitAllCriticalEdges(function, llvm::CriticalEdgeSplittingOptions(&dominators, &loops));
  for (llvm::Loop* loop : loops) llvm::formLCSSARecursively(*loop, dominators, &loops, nullptr);
}

}  // namespace dhpvm::codegen::spmd
