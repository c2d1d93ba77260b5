// SPDX-License-Identifier: Apache-2.0
// The analyses of a scalar function that determine how its loops are widened: divergence of values, and strides of
// addresses. Valid until the function is changed.
#pragma once

#include <llvm/Analysis/AssumptionCache.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/Module.h>

#include <vector>

#include "codegen/spmd/divergence.h"

namespace dhpvm::codegen::spmd {

struct LoopAnalyses {
  LoopAnalyses(llvm::Function& function, const std::vector<ArgShape>& args)
      : dominators(function),
        loops(dominators),
        regions(function, loops),
        divergence(function, regions, args),
        library_names(llvm::Triple(function.getParent()->getTargetTriple())),
        library(library_names, &function),
        assumptions(function),
        evolution(function, library, assumptions, dominators, loops) {}

  llvm::DominatorTree dominators;
  llvm::LoopInfo loops;
  Regions regions;
  Divergence divergence;
  llvm::TargetLibraryInfoImpl library_names;
  llvm::TargetLibraryInfo library;
  llvm::AssumptionCache assumptions;
  llvm::ScalarEvolution evolution;
};

}  // namespace dhpvm::codegen::spmd
