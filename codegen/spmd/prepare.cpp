// SPDX-License-Identifier: Apache-2.0
#include <llvm/Analysis/CFG.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/LoopRotation.h>
#include <llvm/Transforms/Scalar/LoopUnrollPass.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>
#include <llvm/Transforms/Utils/Local.h>
#include <llvm/Transforms/Utils/LowerSwitch.h>

#include "base/error.h"
#include "codegen/spmd/canonical_form.h"
#include "codegen/spmd/chosen_loads.h"
#include "codegen/spmd/locals.h"
#include "codegen/spmd/returns.h"
#include "codegen/spmd/vectorize.h"

namespace dhpvm::codegen::spmd {
namespace {

void simplify(llvm::Function& function, llvm::FunctionAnalysisManager& analyses) {
  llvm::LoopPassManager shape;
  shape.addPass(llvm::LoopRotatePass());
  // Written out, short loops let what they load be moved out of the loops around them.
  shape.addPass(llvm::LoopFullUnrollPass());
  llvm::FunctionPassManager passes;
  passes.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  passes.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));
  passes.addPass(llvm::SimplifyCFGPass());
  passes.addPass(llvm::InstCombinePass());
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(std::move(shape)));
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(llvm::LICMPass(llvm::LICMOptions()),
                                                       /*UseMemorySSA=*/true));
  passes.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));
  passes.addPass(llvm::SimplifyCFGPass());
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
  simplify(scalar, analyses);
  llvm::removeUnreachableBlocks(scalar);

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
