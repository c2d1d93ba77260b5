// SPDX-License-Identifier: Apache-2.0
#include "codegen/host/optimise.h"

#include <llvm/IR/Module.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/LoopUnrollPass.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>

#include <string>

#include "codegen/host/absolute_differences.h"
#include "codegen/host/diagnostics.h"
#include "codegen/host/gathers.h"
#include "codegen/host/llvm_error.h"
#include "codegen/host/local_objects.h"
#include "codegen/host/masked_accesses.h"
#include "codegen/host/quick_casts.h"
#include "codegen/host/split_stores.h"
#include "codegen/host/unroll_loops.h"

namespace dhpvm::codegen {
namespace {

// LLVM's own O2 is made for translation units: it runs a dozen passes over attributes, globals and profiles that find
// nothing in these modules of a function or two, and instcombine eight times. This pipeline gives code of the speed of
// O3 (within 3 % on the loops that were tried) in a half to a quarter of the time. The option -passes of opt-19 takes
// the same notation.
//
// Omitted because they made no loop faster: run-time unrolling for kernels, and SLP vectorisation except for kernels of
// one lane.

// Registers are allocas at first; the callee is simplified before the inliner computes its cost.
#define DHPVM_INLINE "function(sroa<modify-cfg>,early-cse,simplifycfg),cgscc(inline),globaldce,"
#define DHPVM_CLEAN "sroa<modify-cfg>,early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg,"

// In two parts, between which we unroll loops that LLVM would not.
constexpr const char* kFirstOfFunctions = DHPVM_INLINE
    "function(" DHPVM_CLEAN
    "local-objects,"
    // Checks that an earlier check implies.
    "jump-threading,correlated-propagation,simplifycfg,reassociate,"
    "loop-mssa(loop-rotate,licm,simple-loop-unswitch),"
    "loop(indvars,loop-idiom,loop-deletion,unroll-short),"
    "gvn,dse,instcombine<no-verify-fixpoint>,adce,simplifycfg,"
    // Also vectorises loops with an early exit at a failed bounds check.
    "loop-vectorize,"
    // Keeps an element stored in the previous turn in a register, where gvn does not see that the addresses are equal:
    // `y[i] = a * x[i] + b * y[i - 1]` of a new array took 2.3 times as long.
    "loop-load-elim,instcombine<no-verify-fixpoint>,simplifycfg,";
// Vectorises fully unrolled short inner loops: sums of absolute differences over 8 x 8 bytes took 14 times as long.
constexpr const char* kJoinScalars = "slp-vectorizer,instcombine<no-verify-fixpoint>,absolute-differences,";
constexpr const char* kAbsoluteDifferences = "absolute-differences";
constexpr const char* kUnrollSmallLoops = "unroll-small";
// LLVM's loop-unroll-full with the limits of O3, which are twice those of its default: enough for loops over three by
// three neighbours.
constexpr const char* kUnrollShortLoops = "unroll-short";
constexpr const char* kLocalObjects = "local-objects";
constexpr const char* kLastOfFunctions =
    "loop-unroll<O2>,loop-mssa(licm),instcombine<no-verify-fixpoint>,simplifycfg)";

// For functions with this many blocks, in which passes that visit the whole function for each loop or value take
// seconds: 400 small loops took 12 s with the passes above, and 1 s with these.
constexpr std::size_t kManyBlocks = 2000;
constexpr const char* kLargeFunctions =
    DHPVM_INLINE "function(" DHPVM_CLEAN
                 "correlated-propagation,simplifycfg,reassociate,early-cse<memssa>,"
                 "instcombine<no-verify-fixpoint>,adce,simplifycfg)";

constexpr const char* kKernels = DHPVM_INLINE "function(" DHPVM_CLEAN
                                              "loop-mssa(loop-rotate,licm),"
                                              "loop(indvars,loop-deletion,loop-unroll-full),"
                                              "gvn,instcombine<no-verify-fixpoint>,adce,simplifycfg)";

// A single round of simplification, to reduce the work of code generation. Fast instruction selection handles most
// instructions of scalar code (see emit.cpp).
constexpr const char* kBaselineKernels =
    DHPVM_INLINE "function(" DHPVM_CLEAN "loop-mssa(licm),adce,simplifycfg)";

#undef DHPVM_INLINE
#undef DHPVM_CLEAN

std::string passes_for(const llvm::Module& module, Pipeline pipeline) {
  if (pipeline == Pipeline::kKernels) return kKernels;
  if (pipeline == Pipeline::kBaseline) return kBaselineKernels;
  std::size_t blocks = 0;
  for (const llvm::Function& function : module) blocks += function.size();
  if (blocks > kManyBlocks) return kLargeFunctions;
  const std::string between =
      pipeline == Pipeline::kOneLane ? std::string(kJoinScalars) + kUnrollSmallLoops + "," : "";
  return kFirstOfFunctions + between + kLastOfFunctions;
}

// A pass of ours that asks for the processor.
class ForMachine : public llvm::PassInfoMixin<ForMachine> {
 public:
  using Change = void (*)(llvm::Function&, const llvm::TargetMachine&);
  ForMachine(Change change, const llvm::TargetMachine& machine) : change_(change), machine_(machine) {}
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& /*analyses*/) {
    change_(function, machine_);
    return llvm::PreservedAnalyses::none();
  }

 private:
  const Change change_;
  const llvm::TargetMachine& machine_;
};

// Promotes fields to values only if there are such objects.
class KeepObjectsLocal : public llvm::PassInfoMixin<KeepObjectsLocal> {
 public:
  KeepObjectsLocal() {
    make_values_.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
    make_values_.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));
    make_values_.addPass(llvm::SimplifyCFGPass());
  }
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses) {
    if (!keep_objects_local(function)) return llvm::PreservedAnalyses::all();
    analyses.invalidate(function, llvm::PreservedAnalyses::none());
    make_values_.run(function, analyses);
    return llvm::PreservedAnalyses::none();
  }

 private:
  llvm::FunctionPassManager make_values_;
};

}  // namespace

Status optimise(llvm::Module& module, llvm::TargetMachine& machine, Pipeline pipeline) {
  const Diagnostics diagnostics(module.getContext());
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager call_graph;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(call_graph);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, call_graph, modules);
  builder.registerPipelineParsingCallback([&machine](llvm::StringRef name, llvm::FunctionPassManager& passes,
                                                     llvm::ArrayRef<llvm::PassBuilder::PipelineElement>) {
    if (name == kLocalObjects) {
      passes.addPass(KeepObjectsLocal());
      return true;
    }
    const bool unrolls = name == kUnrollSmallLoops;
    if (!unrolls && name != kAbsoluteDifferences) return false;
    passes.addPass(ForMachine(unrolls ? unroll_small_loops : join_absolute_differences, machine));
    return true;
  });
  builder.registerPipelineParsingCallback([](llvm::StringRef name, llvm::LoopPassManager& passes,
                                             llvm::ArrayRef<llvm::PassBuilder::PipelineElement>) {
    if (name != kUnrollShortLoops) return false;
    passes.addPass(llvm::LoopFullUnrollPass(/*OptLevel=*/3));
    return true;
  });
  llvm::ModulePassManager passes;
  if (llvm::Error failure = builder.parsePassPipeline(passes, passes_for(module, pipeline))) {
    return from_llvm(std::move(failure), "building the optimiser");
  }
  passes.run(module, modules);
  split_wide_stores(module, machine);
  fit_gathers(module, machine);
  quicken_casts(module, machine);
  fit_masked_accesses(module, machine);
  return diagnostics.status("LLVM cannot optimise this");
}

}  // namespace dhpvm::codegen
