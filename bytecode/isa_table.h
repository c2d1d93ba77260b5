// SPDX-License-Identifier: Apache-2.0
// The rows of isa.def as a constant for use at compile time: for the decode table, and to prove that every instruction
// has a lowering. All other code calls info().
#pragma once

#include "bytecode/isa.h"

namespace dhpvm::bytecode {

// The operand names of isa.def; a namespace of their own because `_`, `P` and `Func` are too short to share.
namespace operand {
constexpr Operand _ = Operand::kNone;
constexpr Operand Pd = Operand::kPd;
constexpr Operand Ps = Operand::kPs;
constexpr Operand Pm = Operand::kPm;
constexpr Operand Rd = Operand::kRd;
constexpr Operand Rs = Operand::kRs;
constexpr Operand PWin = Operand::kPWin;
constexpr Operand RWin = Operand::kRWin;
constexpr Operand Imm = Operand::kImm;
constexpr Operand Imm32 = Operand::kImm32;
constexpr Operand Off = Operand::kOff;
constexpr Operand Off32 = Operand::kOff32;
constexpr Operand String = Operand::kString;
constexpr Operand Func = Operand::kFunc;
constexpr Operand Kernel = Operand::kKernel;
constexpr Operand Import = Operand::kImport;
constexpr Operand Method = Operand::kMethod;
constexpr Operand Local = Operand::kLocal;
constexpr Operand Field = Operand::kField;
constexpr Operand TrapCode = Operand::kTrapCode;
constexpr Operand Imm64 = Operand::kImm64;
constexpr Operand Type = Operand::kType;
constexpr Operand P = Operand::kP;
constexpr Operand PP = Operand::kPP;
constexpr Operand Element = Operand::kElement;
}  // namespace operand

// The names of kinds and operations in isa.def.
namespace column {
constexpr std::nullopt_t _ = std::nullopt;
constexpr Kind Bool = Kind::kBool;
constexpr Kind I8 = Kind::kI8;
constexpr Kind U8 = Kind::kU8;
constexpr Kind I16 = Kind::kI16;
constexpr Kind U16 = Kind::kU16;
constexpr Kind I32 = Kind::kI32;
constexpr Kind U32 = Kind::kU32;
constexpr Kind I64 = Kind::kI64;
constexpr Kind U64 = Kind::kU64;
constexpr Kind F32 = Kind::kF32;
constexpr Kind F64 = Kind::kF64;
constexpr Kind Ref = Kind::kRef;
}  // namespace column

namespace operation {
constexpr Operation _ = Operation::kNone;
#define DHPVM_OPERATION(name) constexpr Operation name = Operation::k##name;
#include "bytecode/isa.def"
}  // namespace operation

inline constexpr OpInfo kInfo[kOpCount] = {
#define DHPVM_OP(name, mnemonic, a, b, c, x, family, operation_, kind, result, flags, semantics) \
  {operand::a,   operand::b,        operand::c,                                                  \
   operand::x,   Family::k##family, operation::operation_,                                       \
   column::kind, column::result,    static_cast<std::uint8_t>(flags)},
#include "bytecode/isa.def"
};

}  // namespace dhpvm::bytecode
