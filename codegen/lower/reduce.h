// SPDX-License-Identifier: Apache-2.0
// The reductions of bytecode/reduction.h as LLVM IR: for scalars, and for vectors element by element.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include "bytecode/module.h"

namespace dhpvm::codegen {

// The identity of the reduction, as an accumulator of type `type`.
llvm::Constant* identity_of_reduction(const bytecode::Reduction& reduction, llvm::Type* type);

// left op right, as bytecode::combine has it.
llvm::Value* combine(llvm::IRBuilderBase& builder, const bytecode::Reduction& reduction, llvm::Value* left,
                     llvm::Value* right);

// A scalar as the 64 bits of a register.
llvm::Value* as_register(llvm::IRBuilderBase& builder, llvm::Value* value);

}  // namespace dhpvm::codegen
