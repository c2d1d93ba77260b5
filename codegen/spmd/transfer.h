// SPDX-License-Identifier: Apache-2.0
// The shape of an instruction's result, from the shapes of its operands.
#pragma once

#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/IR/Instructions.h>

#include "codegen/spmd/shape.h"

namespace dhpvm::codegen::spmd {

using ShapeLookup = llvm::function_ref<Shape(const llvm::Value*)>;

// For all instructions but phis, whose shape depends on control flow. Unknown while an operand is.
//
// The result of pointer arithmetic on an alloca has the shape of its offset: every lane has its own alloca.
Shape transfer(const llvm::Instruction& instruction, ShapeLookup shape_of);

// The one alloca that `pointer` is derived from, by pointer arithmetic, phis and selects, or null.
const llvm::AllocaInst* private_base(const llvm::Value* pointer);
// Whether `pointer`, which has a private_base, lies a multiple of `bytes` after its start, as far as types tell.
bool is_private_multiple(const llvm::Value* pointer, unsigned bytes, const llvm::DataLayout& layout);

}  // namespace dhpvm::codegen::spmd
