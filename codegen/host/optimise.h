// SPDX-License-Identifier: Apache-2.0
// Optimisation of LLVM IR before code generation: one pipeline for each kind of module.
#pragma once

#include <cstdint>

#include "dhpvm/result.h"

namespace llvm {
class Module;
class TargetMachine;
}  // namespace llvm

namespace dhpvm::codegen {

enum class Pipeline : std::uint8_t {
  kFunctions,  // whole functions: internal functions are inlined, loops vectorised where possible
  kOneLane,    // the same for kernels of one lane; small inner loops are unrolled as well
  kKernels,    // bodies of parallel loops that are vectorised already
  kBaseline,   // kernels of one lane, compiled fast
};

// Optimises `module` in place for `machine`. The module must be valid (llvm::verifyModule).
Status optimise(llvm::Module& module, llvm::TargetMachine& machine, Pipeline pipeline);

}  // namespace dhpvm::codegen
