// SPDX-License-Identifier: Apache-2.0
// The rows of isa.def as a constant that other constants may be derived from. Only for isa.cpp and
// decode.cpp; everything else asks info().
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

inline constexpr OpInfo kInfo[kOpCount] = {
#define DHPVM_OP(name, mnemonic, a, b, c, x, flags, semantics)                                           \
  {#name,    mnemonic, operand::a, operand::b, operand::c, operand::x, static_cast<std::uint8_t>(flags), \
   semantics},
#include "bytecode/isa.def"
#undef DHPVM_OP
};

}  // namespace dhpvm::bytecode
