// SPDX-License-Identifier: Apache-2.0
// Sizes of captured arrays that a kernel is compiled for.
#pragma once

#include <llvm/IR/Function.h>

#include <span>

#include "codegen/codegen.h"

namespace dhpvm::codegen {

// Puts the numbers into `body`, a function as lower_kernel makes it, wherever it asks for these dimensions.
void put_dimensions(llvm::Function& body, std::span<const KnownDimension> dimensions);

}  // namespace dhpvm::codegen
