// SPDX-License-Identifier: Apache-2.0
// Lowers the bytecode of a parallel loop to the LLVM IR of its KernelCode: lowering, vectorisation, the loop around it.
#pragma once

#include <llvm/IR/Module.h>

#include "codegen/cached/code_keys.h"
#include "codegen/cached/kernel_content.h"
#include "codegen/cached/symbols.h"
#include "codegen/host/target.h"
#include "dhpvm/result.h"

namespace dhpvm::codegen {

// Fills `module`, with a function kKernelSymbol. A loop that cannot be vectorised runs one iteration at a time, and the
// description has the reason. kUnsupported if it cannot be compiled at all.
Result<KernelDescription> make_kernel(const KernelRequest& request, const Target& target,
                                      SymbolTable& symbols, llvm::Module& module);

}  // namespace dhpvm::codegen
