// SPDX-License-Identifier: Apache-2.0
// Types and constants of LLVM as OpenCL C.
//
// Integers are unsigned throughout, because signed overflow is undefined in C: iN is held in the smallest of uchar,
// ushort, uint and ulong that has N bits, zero-extended. i1 is bool. Pointers are to bytes.
#pragma once

#include <llvm/IR/Constants.h>
#include <llvm/IR/Type.h>

#include <string>
#include <string_view>

namespace dhpvm::codegen::opencl {

// The size of the C type that holds an integer of `bits`: 8, 16, 32 or 64.
unsigned held_bits(unsigned bits);
// "uint"; "int" if signed.
std::string_view integer_type(unsigned bits, bool is_signed = false);
// "global ", "local " or "" for private memory: the qualifier of a pointer's element type.
std::string_view space_name(unsigned address_space);
std::string type_name(const llvm::Type* type);
// The type of a variable that is initialised in its declaration.
std::string constant_type_name(const llvm::Type* type);
// The type with which a value is read from and written to memory: the unsigned integer of its size, so that no memory
// is accessed with two types of the same size.
std::string_view memory_type(const llvm::Type* type);

std::string integer_text(const llvm::APInt& value);
// Exact; NaN with its bits.
std::string float_text(const llvm::APFloat& value);
// 0 for undefined values and poison.
std::string constant_text(const llvm::Constant& constant);

}  // namespace dhpvm::codegen::opencl
