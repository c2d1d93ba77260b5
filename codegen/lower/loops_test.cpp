// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "bytecode/assembler.h"
#include "codegen/lower/flow.h"

namespace dhpvm::codegen {
namespace {

// Describes the inner loops of the first function: "short" if they are, then for each access that is checked for many
// iterations at once its word, followed by a colon and its conditional part, if it has one.
std::string known(std::string_view text) {
  const bytecode::Module module = bytecode::assemble(text).value();
  const Flow flow(module, module.functions.front(), LoopSearch::kInner);
  std::string all;
  for (const InnerLoop& loop : flow.loops()) {
    if (!all.empty()) all += ", ";
    all += loop.is_short ? "short" : "loop";
    for (const SteppedAccess& access : loop.stepped) {
      all += " " + std::to_string(access.pc);
      if (access.arm != bytecode::kNoIndex) all += ":" + std::to_string(access.arm);
    }
  }
  return all;
}

// The load is at word 3.
std::string sum_of(int from, std::string_view bound) {
  return "type array n: i64\n"
         "function f(i64, n) -> i64 registers 5 1\n"
         "  imm p1, 0\n"
         "  imm p2, " +
         std::to_string(from) + "\n" + std::string(bound) +
         "Again:\n"
         "  load.i64 p4, r0, p2\n"
         "  add.i64 p1, p1, p4\n"
         "  for.i64 p2, p3, Again\n"
         "  return.p p1\n"
         "end\n";
}

TEST(InnerLoops, AreShortIfTheProgramStatesFewIterations) {
  EXPECT_EQ(known(sum_of(-3, "  imm p3, 2\n")), "short 3");
  EXPECT_EQ(known(sum_of(0, "  imm p3, 17\n")), "loop 3");
  EXPECT_EQ(known(sum_of(0, "  imm p3, 0\n")), "loop 3");
  EXPECT_EQ(known(sum_of(0, "  move.p p3, p0\n")), "loop 3");
}

// `for i in 0..=n`: p3 counts up to 0, p2 is the index.
TEST(InnerLoops, HaveIndicesBesideTheirCounter) {
  const std::string_view begin =
      "type array n: i64\n"
      "function f(i64, n) -> i64 registers 6 1\n"
      "  imm p1, 0\n"
      "  imm p2, 0\n"
      "  not.i64 p3, p0\n"
      "  imm p4, 0\n"
      "Again:\n"
      "  load.i64 p5, r0, p2\n"  // 4
      "  add.i64 p1, p1, p5\n";
  const std::string_view end =
      "  for.i64 p3, p4, Again\n"
      "  return.p p1\n"
      "end\n";
  const auto with = [&](std::string_view steps) {
    return known(std::string(begin).append(steps).append(end));
  };
  EXPECT_EQ(with("  add.imm.i64 p2, p2, 1\n"), "loop 4");
  EXPECT_EQ(with("  add.imm.i64 p2, p2, 2\n"), "loop");
  EXPECT_EQ(with("  add.imm.i64 p2, p2, 1\n  add.imm.i64 p2, p2, 1\n"), "loop");
}

TEST(InnerLoops, CheckAheadWhereOnlySomeIterationsCome) {
  EXPECT_EQ(known("type array n: i64\n"
                  "function f(i64, i64, n, n) -> i64 registers 6 2\n"
                  "  imm p2, 0\n"
                  "  imm p3, 0\n"
                  "Again:\n"
                  "  load.i64 p4, r0, p3\n"        // 2: in every iteration
                  "  jump.lt.i64 p4, p1, Small\n"  // 3
                  "  sub.i64 p5, p3, p1\n"         // 4
                  "  load.i64 p4, r1, p5\n"        // 5: at a growing index
                  "  jump Both\n"                  // 6
                  "Small:\n"
                  "  load.i64 p5, r0, p1\n"  // 7: at an invariant index
                  "  load.i64 p4, r0, p5\n"  // 8: at an unknown index
                  "Both:\n"
                  "  add.i64 p2, p2, p4\n"
                  "  for.i64 p3, p0, Again\n"
                  "  return.p p2\n"
                  "end\n"),
            "loop 2 7:0 5:1");
}

TEST(InnerLoops, TakeReferencesAheadThatEveryIterationTakes) {
  EXPECT_EQ(known("type array n: i64\n"
                  "type class C\n"
                  "  field a: n\n"
                  "  field b: n\n"
                  "function f(i64, C) -> i64 registers 3 2\n"
                  "Again:\n"
                  "  get.ref r1, r0, 8\n"             // 0: in every iteration
                  "  load.i64 p1, r1, p0\n"           // 1
                  "  jump.le.imm.i64 p1, 3, Small\n"  // 2
                  "  get.ref r1, r0, 16\n"            // 3
                  "  load.i64 p1, r1, p1\n"
                  "Small:\n"
                  "  move.p p0, p1\n"
                  "  jump.le.imm.i64 p0, 0, Done\n"
                  "  loop Again\n"
                  "Done:\n"
                  "  return.p p0\n"
                  "end\n"),
            "loop 0");
}

}  // namespace
}  // namespace dhpvm::codegen
