// SPDX-License-Identifier: Apache-2.0
#include "codegen/host/optimise.h"

#include <llvm/IR/Module.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Target/TargetMachine.h>

namespace dhpvm::codegen {

void optimise(llvm::Module& module, llvm::TargetMachine& machine, Pipeline pipeline) {
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = pipeline == Pipeline::kFunctions;
  tuning.SLPVectorization = pipeline == Pipeline::kFunctions;
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager call_graph;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine, tuning);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(call_graph);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, call_graph, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2).run(module, modules);
}

}  // namespace dhpvm::codegen
