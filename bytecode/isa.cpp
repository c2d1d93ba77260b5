// SPDX-License-Identifier: Apache-2.0
#include "bytecode/isa.h"

#include <algorithm>
#include <array>

namespace dhpvm::bytecode {
namespace {

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

constexpr OpInfo kInfo[] = {
#define DHPVM_OP(name, mnemonic, a, b, c, x, flags, semantics)                                           \
  {#name,    mnemonic, operand::a, operand::b, operand::c, operand::x, static_cast<std::uint8_t>(flags), \
   semantics},
#include "bytecode/isa.def"
#undef DHPVM_OP
};

// Opcodes sorted by mnemonic, for the assembler's look-up.
constexpr auto kByMnemonic = [] {
  std::array<std::uint16_t, kOpCount> order{};
  for (std::uint16_t i = 0; i < kOpCount; ++i) order[i] = i;
  std::sort(order.begin(), order.end(),
            [](std::uint16_t a, std::uint16_t b) { return kInfo[a].mnemonic < kInfo[b].mnemonic; });
  return order;
}();

constexpr bool mnemonics_are_unique() {
  for (std::size_t i = 1; i < kByMnemonic.size(); ++i) {
    if (kInfo[kByMnemonic[i - 1]].mnemonic == kInfo[kByMnemonic[i]].mnemonic) return false;
  }
  return true;
}
static_assert(mnemonics_are_unique());

}  // namespace

const OpInfo& info(Op op) { return kInfo[static_cast<std::uint16_t>(op)]; }

Op find_mnemonic(std::string_view mnemonic) {
  const auto at =
      std::lower_bound(kByMnemonic.begin(), kByMnemonic.end(), mnemonic,
                       [](std::uint16_t op, std::string_view wanted) { return kInfo[op].mnemonic < wanted; });
  if (at == kByMnemonic.end() || kInfo[*at].mnemonic != mnemonic) return static_cast<Op>(kOpCount);
  return static_cast<Op>(*at);
}

}  // namespace dhpvm::bytecode
