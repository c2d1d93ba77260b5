// SPDX-License-Identifier: Apache-2.0
// OpenCL C for a module of LLVM IR.
#pragma once

#include <llvm/IR/Module.h>

#include <string>

#include "dhpvm/result.h"

namespace dhpvm::codegen::opencl {

struct PrintOptions {
  const llvm::Function* kernel = nullptr;  // calls all others
  bool may_contract = false;               // products and sums may be fused
  bool uses_f64 = false;
  bool uses_atomics_64 = false;
};

// The module must have been through prepare_to_print. kUnsupported if OpenCL C cannot express something in it.
Result<std::string> print(llvm::Module& module, const PrintOptions& options);

}  // namespace dhpvm::codegen::opencl
