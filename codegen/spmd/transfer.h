// SPDX-License-Identifier: Apache-2.0
// From the shapes of an instruction's operands to the shape of its result.
#pragma once

#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/IR/Instructions.h>

#include "codegen/spmd/shape.h"

namespace dhpvm::codegen::spmd {

using ShapeLookup = llvm::function_ref<Shape(const llvm::Value*)>;

// For all instructions but phis, whose shape depends on control flow. Unknown while an operand is.
//
// The result of pointer arithmetic on an alloca has the shape of its offset: every lane has an alloca of its own.
Shape transfer(const llvm::Instruction& instruction, ShapeLookup shape_of);

// The alloca that `pointer` is derived from by pointer arithmetic alone, or null.
const llvm::AllocaInst* private_base(const llvm::Value* pointer);

}  // namespace dhpvm::codegen::spmd
