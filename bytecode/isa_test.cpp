// SPDX-License-Identifier: Apache-2.0
#include "bytecode/isa.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>

#include "bytecode/decode.h"
#include "bytecode/isa_text.h"
#include "bytecode/names.h"

namespace dhpvm::bytecode {
namespace {

// Calls test(op, row, text) for every instruction.
template <typename Test>
void for_each_op(Test&& test) {
  for (std::uint16_t op = 0; op < kOpCount; ++op)
    test(static_cast<Op>(op), info(static_cast<Op>(op)), text_of(static_cast<Op>(op)));
}

TEST(Isa, EveryMnemonicFindsItsOpcode) {
  for_each_op([](Op op, const OpInfo&, const OpText& text) {
    EXPECT_EQ(find_mnemonic(text.mnemonic), op) << text.name;
  });
  EXPECT_EQ(find_mnemonic("add.i128"), static_cast<Op>(kOpCount));
  EXPECT_EQ(find_mnemonic(""), static_cast<Op>(kOpCount));
}

TEST(Isa, RowsAreWellFormed) {
  for_each_op([](Op op, const OpInfo& row, const OpText& text) {
    EXPECT_FALSE(text.semantics.empty()) << text.name;
    // 32-bit operands fill b and c.
    if (row.b == Operand::kImm32 || row.b == Operand::kOff32 || row.b == Operand::kString) {
      EXPECT_EQ(row.c, Operand::kNone) << text.name;
    }
    // A branch has an offset, and a second word would make the offset's origin ambiguous.
    const bool has_offset = row.b == Operand::kOff32 || row.c == Operand::kOff;
    const bool is_branch = row.has(kBranch) || row.family == Family::kJump;
    EXPECT_EQ(has_offset, is_branch) << text.name;
    if (has_offset) {
      EXPECT_EQ(row.words(), 1u) << text.name;
    }
    // Instructions that collect may not run in a kernel, except calls, which are checked through their callees.
    if (row.has(kCollects) && op != Op::kCall) {
      EXPECT_FALSE(row.has(kKernel)) << text.name;
    }
  });
}

TEST(Isa, WhatIsApproximateHasABoundInItsRow) {
  for_each_op([](Op, const OpInfo& row, const OpText& text) {
    const bool has_bound = text.semantics.find("ULP") != std::string_view::npos;
    EXPECT_EQ(row.has(kApproximate), has_bound) << text.mnemonic;
  });
}

// ---- The columns say the same as the spelling, on which nothing else depends.

std::string_view last_part(std::string_view mnemonic) { return mnemonic.substr(mnemonic.rfind('.') + 1); }

TEST(Isa, TheKindIsTheLastPartOfTheMnemonic) {
  for_each_op([](Op, const OpInfo& row, const OpText& text) {
    const std::string_view last = last_part(text.mnemonic);
    const bool names_a_kind = std::ranges::find(kKindNames, last) != kKindNames.end();
    switch (row.family) {
      case Family::kConvert: EXPECT_TRUE(row.kind && row.result) << text.mnemonic; break;
      case Family::kJumpIf: EXPECT_EQ(row.kind, Kind::kBool) << text.mnemonic; break;
      case Family::kJumpNull: EXPECT_EQ(row.kind, Kind::kRef) << text.mnemonic; break;
      default:
        EXPECT_EQ(row.kind.has_value(), names_a_kind) << text.mnemonic;
        if (row.kind && names_a_kind) {
          EXPECT_EQ(name_of(*row.kind), last) << text.mnemonic;
        }
    }
    if (row.family == Family::kConvert && text.mnemonic.find(".to.") != std::string_view::npos) {
      EXPECT_EQ(fmt::format("{}.to.{}", name_of(*row.kind), name_of(*row.result)), text.mnemonic);
    }
  });
}

TEST(Isa, TheResultIsTheKindThatTheSemanticsGiveToPa) {
  for_each_op([](Op, const OpInfo& row, const OpText& text) {
    const std::size_t at = text.semantics.find("P[a].");
    const bool is_written = row.a == Operand::kPd || row.a == Operand::kPm;
    if (at == std::string_view::npos || !is_written || row.family == Family::kConstant) return;
    ASSERT_TRUE(row.result.has_value()) << text.mnemonic;
    const Kind shown = row.result == Kind::kBool ? Kind::kI32 : *row.result;
    EXPECT_EQ(name_of(shown), text.semantics.substr(at + 5, 3)) << text.mnemonic;
  });
}

TEST(Isa, NoTwoInstructionsAreTheSame) {
  std::map<std::tuple<Family, Operation, int, int, Operand, Operand, Operand, Operand, int>, Op> seen;
  for_each_op([&](Op op, const OpInfo& row, const OpText& text) {
    const auto number = [](std::optional<Kind> kind) { return kind ? static_cast<int>(*kind) : -1; };
    const auto [other, is_new] =
        seen.insert({{row.family, row.operation, number(row.kind), number(row.result), row.a, row.b, row.c,
                      row.x, row.flags & kBackEdge},
                     op});
    EXPECT_TRUE(is_new) << text.mnemonic << " and " << mnemonic_of(other->second);
  });
}

// Files contain the numbers of version 1.0: moving, removing or inserting a row changes this sum.
TEST(Isa, OpcodesOfVersion10KeepTheirNumbers) {
  constexpr std::uint16_t kCountOf10 = 345;
  std::uint64_t sum = 0xcbf29ce484222325;
  for (std::uint16_t op = 0; op < kCountOf10; ++op) {
    for (const char c : std::string(mnemonic_of(static_cast<Op>(op))) + "\n")
      sum = (sum ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  }
  EXPECT_EQ(sum, 0x484b2e354e5d77b4u);
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
