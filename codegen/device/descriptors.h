// SPDX-License-Identifier: Apache-2.0
// The descriptors of arrays in the body of a loop.
#pragma once

#include <llvm/IR/Function.h>

namespace dhpvm::codegen {

// Moves loads of the descriptors' fields to the function's entry, each field once, so that they dominate all uses.
void hoist_descriptors(llvm::Function& body, llvm::Argument& arrays);

}  // namespace dhpvm::codegen
