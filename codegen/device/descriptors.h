// SPDX-License-Identifier: Apache-2.0
// The descriptors of arrays in the body of a loop.
#pragma once

#include <llvm/IR/Function.h>

namespace dhpvm::codegen {

// Moves loads of the descriptors' fields to the function's begin, each field once, where everything may use them.
void hoist_descriptors(llvm::Function& body, llvm::Argument& arrays);

}  // namespace dhpvm::codegen
