// SPDX-License-Identifier: Apache-2.0
#include "bytecode/isa.h"

#include <algorithm>
#include <array>

#include "bytecode/isa_table.h"
#include "bytecode/isa_text.h"

namespace dhpvm::bytecode {
namespace {

constexpr OpText kTexts[kOpCount] = {
#define DHPVM_OP(name, mnemonic, a, b, c, x, family, operation, kind, result, flags, semantics) \
  {#name, mnemonic, semantics},
#include "bytecode/isa.def"
};

// Opcodes sorted by mnemonic, for the assembler's look-up.
constexpr auto kByMnemonic = [] {
  std::array<std::uint16_t, kOpCount> order{};
  for (std::uint16_t i = 0; i < kOpCount; ++i) order[i] = i;
  std::sort(order.begin(), order.end(),
            [](std::uint16_t a, std::uint16_t b) { return kTexts[a].mnemonic < kTexts[b].mnemonic; });
  return order;
}();

constexpr bool mnemonics_are_unique() {
  for (std::size_t i = 1; i < kByMnemonic.size(); ++i) {
    if (kTexts[kByMnemonic[i - 1]].mnemonic == kTexts[kByMnemonic[i]].mnemonic) return false;
  }
  return true;
}
static_assert(mnemonics_are_unique());

}  // namespace

const OpInfo& info(Op op) { return kInfo[static_cast<std::uint16_t>(op)]; }

const OpText& text_of(Op op) { return kTexts[static_cast<std::uint16_t>(op)]; }

Op find_mnemonic(std::string_view mnemonic) {
  const auto at = std::lower_bound(
      kByMnemonic.begin(), kByMnemonic.end(), mnemonic,
      [](std::uint16_t op, std::string_view wanted) { return kTexts[op].mnemonic < wanted; });
  if (at == kByMnemonic.end() || kTexts[*at].mnemonic != mnemonic) return static_cast<Op>(kOpCount);
  return static_cast<Op>(*at);
}

}  // namespace dhpvm::bytecode
