// SPDX-License-Identifier: Apache-2.0
#include <llvm/Analysis/CFG.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/LoopRotation.h>
#include <llvm/Transforms/Scalar/LoopUnrollPass.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/Local.h>
#include <llvm/Transforms/Utils/LowerSwitch.h>

#include "base/error.h"
#include "codegen/spmd/canonical_form.h"
#include "codegen/spmd/chosen_loads.h"
#include "codegen/spmd/joined_stores.h"
#include "codegen/spmd/locals.h"
#include "codegen/spmd/narrow_integers.h"
#include "codegen/spmd/returns.h"
#include "codegen/spmd/vectorize.h"

namespace dhpvm::codegen::spmd {
namespace {

// Gives each loop a single back edge. LLVM would turn a loop with several into nested loops, and lanes at one back edge
// would wait until all others have left the inner loop: a binary search took 48 cycles for each step of a lane.
void join_back_edges(llvm::Function& function) {
  llvm::DominatorTree dominators(function);
  llvm::LoopInfo loops(dominators);
  for (llvm::Loop* loop : loops.getLoopsInPreorder()) {
    llvm::SmallVector<llvm::BasicBlock*, 4> latches;
    loop->getLoopLatches(latches);
    if (latches.size() > 1)
      llvm::SplitBlockPredecessors(loop->getHeader(), latches, ".back", &dominators, &loops);
  }
}

// Turns a switch whose cases all have the same target into one condition, as `x == 32 || x == 10` is one. Otherwise it
// would become a tree of comparisons, at each of which lanes diverge.
struct JoinCases : llvm::PassInfoMixin<JoinCases> {
  static llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& /*analyses*/) {
    for (llvm::BasicBlock& block : function) {
      auto* const choice = llvm::dyn_cast<llvm::SwitchInst>(block.getTerminator());
      if (choice != nullptr) join(*choice);
    }
    return llvm::PreservedAnalyses::none();
  }

 private:
  static void join(llvm::SwitchInst& choice) {
    constexpr unsigned kMostCases = 8;
    const unsigned cases = choice.getNumCases();
    if (cases == 0 || cases > kMostCases) return;
    llvm::BasicBlock* const to = choice.case_begin()->getCaseSuccessor();
    if (to == choice.getDefaultDest()) return;
    llvm::IRBuilder<> b(&choice);
    llvm::Value* is_any = b.getFalse();
    for (const auto& one : choice.cases()) {
      if (one.getCaseSuccessor() != to) return;
      is_any = b.CreateOr(is_any, b.CreateICmpEQ(choice.getCondition(), one.getCaseValue()));
    }
    for (llvm::PHINode& phi : to->phis()) {
      for (unsigned edge = 1; edge < cases; ++edge)
        phi.removeIncomingValue(choice.getParent(), /*DeletePHIIfEmpty=*/false);
    }
    b.CreateCondBr(is_any, to, choice.getDefaultDest());
    choice.eraseFromParent();
  }
};

void simplify(llvm::Function& function, llvm::FunctionAnalysisManager& analyses) {
  llvm::LoopPassManager shape;
  shape.addPass(llvm::LoopRotatePass());
  // Unrolled short loops allow their loads to be hoisted out of enclosing loops.
  shape.addPass(llvm::LoopFullUnrollPass());
  llvm::FunctionPassManager passes;
  passes.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  passes.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));
  passes.addPass(llvm::SimplifyCFGPass());
  passes.addPass(llvm::InstCombinePass());
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(std::move(shape)));
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(llvm::LICMPass(llvm::LICMOptions()),
                                                       /*UseMemorySSA=*/true));
  // Local arrays whose indices unrolling has made known are values, which the choice of lanes counts.
  passes.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  passes.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));
  passes.addPass(llvm::SimplifyCFGPass(llvm::SimplifyCFGOptions().hoistCommonInsts(true)));
  passes.addPass(JoinCases());
  passes.addPass(llvm::LowerSwitchPass());
  passes.run(function, analyses);
}

}  // namespace

Status prepare(llvm::Function& scalar, const std::vector<ArgShape>& args) {
  llvm::LoopAnalysisManager loop_analyses;
  llvm::FunctionAnalysisManager analyses;
  llvm::CGSCCAnalysisManager call_graph_analyses;
  llvm::ModuleAnalysisManager module_analyses;
  llvm::PassBuilder builder;
  builder.registerModuleAnalyses(module_analyses);
  builder.registerCGSCCAnalyses(call_graph_analyses);
  builder.registerFunctionAnalyses(analyses);
  builder.registerLoopAnalyses(loop_analyses);
  builder.crossRegisterProxies(loop_analyses, analyses, call_graph_analyses, module_analyses);

  expand_local_copies(scalar);
  llvm::removeUnreachableBlocks(scalar);
  merge_returns(scalar);
  join_back_edges(scalar);
  simplify(scalar, analyses);
  llvm::removeUnreachableBlocks(scalar);
  join_stores(scalar);
  narrow_integers(scalar);

  const llvm::DominatorTree dominators(scalar);
  const llvm::LoopInfo loops(dominators);
  const llvm::ReversePostOrderTraversal<llvm::Function*> order(&scalar);
  if (llvm::containsIrreducibleCFG<llvm::BasicBlock*>(order, loops)) {
    return error(ErrorCode::kUnsupported,
                 "cannot be vectorised: {} has a loop that is entered in several places",
                 std::string_view(scalar.getName()));
  }
  bring_into_form(scalar);
  split_chosen_loads(scalar, args);
  return {};
}

}  // namespace dhpvm::codegen::spmd
