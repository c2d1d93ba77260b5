// SPDX-License-Identifier: Apache-2.0
#include "bytecode/isa.h"

#include <gtest/gtest.h>

namespace dhpvm::bytecode {
namespace {

TEST(Isa, EveryMnemonicFindsItsOpcode) {
  for (std::uint16_t op = 0; op < kOpCount; ++op) {
    const OpInfo& row = info(static_cast<Op>(op));
    EXPECT_EQ(find_mnemonic(row.mnemonic), static_cast<Op>(op)) << row.name;
  }
  EXPECT_EQ(find_mnemonic("add.i128"), static_cast<Op>(kOpCount));
  EXPECT_EQ(find_mnemonic(""), static_cast<Op>(kOpCount));
}

TEST(Isa, RowsAreWellFormed) {
  for (std::uint16_t op = 0; op < kOpCount; ++op) {
    const OpInfo& row = info(static_cast<Op>(op));
    EXPECT_FALSE(row.semantics.empty()) << row.name;
    // 32-bit operands fill b and c.
    if (row.b == Operand::kImm32 || row.b == Operand::kOff32 || row.b == Operand::kString) {
      EXPECT_EQ(row.c, Operand::kNone) << row.name;
    }
    // A branch has an offset, and a second word would make the offset's origin ambiguous.
    const bool has_offset = row.b == Operand::kOff32 || row.c == Operand::kOff;
    const bool is_branch = (row.flags & (kBranch | kBackEdge)) != 0 || static_cast<Op>(op) == Op::kJump;
    EXPECT_EQ(has_offset, is_branch) << row.name;
    if (has_offset) {
      EXPECT_EQ(row.words(), 1u) << row.name;
    }
    // What collects may not run in a kernel, calls aside: those are checked through their callees.
    if ((row.flags & kCollects) != 0 && static_cast<Op>(op) != Op::kCall) {
      EXPECT_EQ(row.flags & kKernel, 0) << row.name;
    }
  }
}

TEST(Isa, WhatIsApproximateHasABoundInItsRow) {
  for (std::uint16_t op = 0; op < kOpCount; ++op) {
    const bool has_bound = info(static_cast<Op>(op)).semantics.find("ULP") != std::string_view::npos;
    EXPECT_EQ(is_approximate(static_cast<Op>(op)), has_bound) << info(static_cast<Op>(op)).mnemonic;
  }
}

TEST(Isa, WordsKeepTheirFields) {
  const Word word = encode(Op::kAddI64, 1, 0xffff, 3);
  EXPECT_EQ(op_of(word), static_cast<std::uint16_t>(Op::kAddI64));
  EXPECT_EQ(a_of(word), 1);
  EXPECT_EQ(b_of(word), 0xffff);
  EXPECT_EQ(c_of(word), 3);
  EXPECT_EQ(bc_of(encode32(Op::kLoop, 0, static_cast<std::uint32_t>(-7))), -7);
  EXPECT_EQ(x1_of(0x50003), 5);
  EXPECT_EQ(element_size_of(Word{24} << 32 | 8), 24u);
  EXPECT_EQ(element_offset_of(Word{24} << 32 | 8), 8u);
}

}  // namespace
}  // namespace dhpvm::bytecode
