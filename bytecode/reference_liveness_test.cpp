// SPDX-License-Identifier: Apache-2.0
#include "bytecode/reference_liveness.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "bytecode/assembler.h"
#include "bytecode/instruction.h"

namespace dhpvm::bytecode {
namespace {

// The registers that are live before each instruction of the first function, as their numbers: "01,1,..".
std::string needed(std::string_view text) {
  const Module module = assemble(text).value();
  const Function& function = module.functions.front();
  const std::vector<CodeBlock> blocks = find_blocks(module, function);
  const ReferenceLiveness liveness(module, function, blocks);
  std::vector<std::string> by_pc(function.code_size, "unreachable");
  for (std::uint32_t number = 0; number < blocks.size(); ++number) {
    for (std::uint32_t pc = blocks[number].begin; pc < blocks[number].end;
         pc = decode(module, function, pc).next()) {
      const RegisterSet set = liveness.before(number, pc);
      by_pc[pc].clear();
      for (std::uint32_t reg = 0; reg < function.reference_registers; ++reg) {
        if (contains(set, reg)) by_pc[pc] += std::to_string(reg);
      }
    }
  }
  std::string all;
  for (std::uint32_t pc = 0; pc < function.code_size; pc = decode(module, function, pc).next())
    all += (pc == 0 ? "" : ",") + by_pc[pc];
  return all;
}

TEST(ReferenceLiveness, EndsWithTheLastRead) {
  EXPECT_EQ(needed("function f(str, str) -> str registers 0 3\n"
                   "  move.r r2, r0\n"
                   "  move.r r0, r1\n"
                   "  return.r r2\n"
                   "end\n"),
            "01,12,2");
}

TEST(ReferenceLiveness, GoesAroundLoops) {
  EXPECT_EQ(needed("function f(i64, str, str) -> str registers 2 3\n"
                   "  imm p1, 0\n"
                   "Again:\n"
                   "  move.r r2, r0\n"
                   "  for.i64 p1, p0, Again\n"
                   "  return.r r1\n"
                   "end\n"),
            "01,01,01,1");
}

// Arguments are live before a call, its results after it.
TEST(ReferenceLiveness, KnowsTheWindowsOfCalls) {
  EXPECT_EQ(needed("function f(str, str) -> str registers 0 4\n"
                   "  move.r r2, r1\n"
                   "  move.r r3, r0\n"
                   "  call p0, r2, f\n"
                   "  return.r r2\n"
                   "end\n"),
            "01,02,23,2");
}

TEST(ReferenceLiveness, DoesNotGrowWhereControlEnds) {
  EXPECT_EQ(needed("function f(i64, str) registers 1 1\n"
                   "  jump.ge.imm.i64 p0, 2, Out\n"
                   "  trap.message r0\n"
                   "Out:\n"
                   "  return\n"
                   "end\n"),
            "0,0,");
}

// Registers that a handler reads are live before each instruction that may trap, and no longer.
TEST(ReferenceLiveness, KeepsWhatHandlersNeed) {
  EXPECT_EQ(needed("function f(i64, str, str) -> str registers 1 2\n"
                   "  protect H\n"
                   "  div.i64 p0, p0, p0\n"
                   "  imm p0, 1\n"
                   "  return.r r0\n"
                   "H:\n"
                   "  caught p0\n"
                   "  return.r r1\n"
                   "end\n"),
            "01,01,0,0,1,1");
}

}  // namespace
}  // namespace dhpvm::bytecode
