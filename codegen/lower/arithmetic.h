// SPDX-License-Identifier: Apache-2.0
// The results of instructions on primitive registers: the families Integer, Shift, Float, Compare and Convert, and the
// conditions of branches. No fast-math flags of their own, no contraction: the bits are the interpreter's.
#pragma once

#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/IR/IRBuilder.h>

#include "codegen/lower/instruction.h"

namespace dhpvm::codegen {

// Reads a primitive register as a slot type.
using ReadRegister = llvm::function_ref<llvm::Value*(std::uint32_t reg, SlotType type)>;

// The result of an instruction of one of these families; none of them can trap.
llvm::Value* compute(llvm::IRBuilder<>& builder, const Instruction& instruction, ReadRegister read);

// Whether the relation of a JumpCompare holds: an i1.
llvm::Value* condition_of(llvm::IRBuilder<>& builder, const Instruction& instruction, ReadRegister read);

// A signed immediate operand as a constant of the type that registers have for `kind`.
llvm::Value* immediate(llvm::IRBuilder<>& builder, bytecode::Kind kind, std::uint16_t operand);

}  // namespace dhpvm::codegen
