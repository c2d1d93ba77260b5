// SPDX-License-Identifier: Apache-2.0
// Brings the IR of a kernel into the form that can be printed as OpenCL C.
#pragma once

#include <llvm/IR/Module.h>

#include "dhpvm/result.h"

namespace dhpvm::codegen::opencl {

// Before optimisation, which would hide what is replaced here: products of 128 bits.
void replace_wide_products(llvm::Module& module);

// After it: updates that OpenCL has no atomics for, arithmetic that tells of overflow, switches, loops with several
// entries.
Status prepare_to_print(llvm::Module& module);

}  // namespace dhpvm::codegen::opencl
