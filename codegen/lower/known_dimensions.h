// SPDX-License-Identifier: Apache-2.0
// Shape specialisation: sizes of captured arrays that a kernel is compiled for.
#pragma once

#include <llvm/IR/Function.h>

#include <span>

#include "codegen/codegen.h"

namespace dhpvm::codegen {

// Replaces uses of these dimensions in `body`, a function made by lower_kernel, by the numbers.
void put_dimensions(llvm::Function& body, std::span<const KnownDimension> dimensions);

}  // namespace dhpvm::codegen
