// SPDX-License-Identifier: Apache-2.0
// Brings the IR of a kernel into the form that can be printed as OpenCL C.
#pragma once

#include <llvm/IR/Module.h>

#include "dhpvm/result.h"

namespace dhpvm::codegen::opencl {

// Runs after optimisation. Expands updates that OpenCL has no atomics for, arithmetic that reports overflow, switches,
// and loops with several entries.
Status prepare_to_print(llvm::Module& module);

}  // namespace dhpvm::codegen::opencl
