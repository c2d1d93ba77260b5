// SPDX-License-Identifier: Apache-2.0
#include "codegen/lower/upper_halves.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "bytecode/assembler.h"

namespace dhpvm::codegen {
namespace {

// The registers with live upper halves at the start of each block of the first function, as "01,1,..".
std::string needed(std::string_view text) {
  const bytecode::Module module = bytecode::assemble(text).value();
  const bytecode::Function& function = module.functions.front();
  const std::vector<bytecode::CodeBlock> blocks = find_blocks(module, function);
  const UpperHalves halves(module, function, blocks);
  std::string all;
  for (std::uint32_t block = 0; block < blocks.size(); ++block) {
    if (block != 0) all += ",";
    for (std::uint32_t reg = 0; reg < function.primitive_registers; ++reg) {
      if (halves.are_needed(block, reg)) all += std::to_string(reg);
    }
  }
  return all;
}

TEST(UpperHalves, ComeFromTheKindsOfOperands) {
  EXPECT_EQ(needed("function f(i64, i64, i32, i32) -> i64 registers 4 0\n"
                   "  add.i64 p0, p0, p1\n"
                   "  add.i32 p2, p2, p3\n"
                   "  shl.i64 p0, p0, p2\n"
                   "  return.p p0\n"
                   "end\n"),
            "01");
}

// The operands of a copy, or of a bitwise operation, are live in the same halves as the result.
TEST(UpperHalves, AreNeededForThoseOfResults) {
  EXPECT_EQ(needed("function f(i64, i64, i64) -> i32 registers 4 0\n"
                   "  move.p p3, p0\n"
                   "  xor.i64 p3, p3, p1\n"
                   "  and.i64 p2, p2, p2\n"
                   "  return.p p3\n"
                   "end\n"),
            "");
  EXPECT_EQ(needed("function f(i64, i64, i64) -> i64 registers 4 0\n"
                   "  move.p p3, p0\n"
                   "  xor.i64 p3, p3, p1\n"
                   "  and.i64 p2, p2, p2\n"
                   "  return.p p3\n"
                   "end\n"),
            "01");
}

// An index has 64 bits; an element has those of its kind.
TEST(UpperHalves, AreThoseOfIndicesAndWideElements) {
  EXPECT_EQ(needed("type array n: i32\n"
                   "type array m: i64\n"
                   "function f(i64, i32, i64, i64, n, m) registers 4 2\n"
                   "  store.i32 r0, p0, p1\n"
                   "  store.i64 r1, p2, p3\n"
                   "  return\n"
                   "end\n"),
            "023");
}

TEST(UpperHalves, AreThoseOfWideParametersAndResults) {
  EXPECT_EQ(needed("function f(i64, i32, i64) -> i32, i64 registers 5 0\n"
                   "  move.p p3, p1\n"
                   "  move.p p4, p2\n"
                   "  move.p p2, p0\n"
                   "  call p2, r0, f\n"
                   "  move.p p0, p2\n"
                   "  move.p p1, p3\n"
                   "  return\n"
                   "end\n"),
            "02");
}

// The handler sees the registers before the division, not after it.
TEST(UpperHalves, AreNeededByHandlers) {
  EXPECT_EQ(needed("function f(i64, i64) -> i64 registers 3 0\n"
                   "  protect Handler\n"
                   "  div.i64 p1, p0, p0\n"
                   "  return.p p1\n"
                   "Handler:\n"
                   "  caught p2\n"
                   "  return.p p1\n"
                   "end\n"),
            "01,01,1");
}

}  // namespace
}  // namespace dhpvm::codegen
