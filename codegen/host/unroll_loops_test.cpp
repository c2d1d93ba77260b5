// SPDX-License-Identifier: Apache-2.0
#include "codegen/host/unroll_loops.h"

#include <gtest/gtest.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>

#include <cstdint>
#include <string>
#include <vector>

#include "codegen/host/ir_for_tests.h"
#include "codegen/host/optimise.h"

namespace dhpvm::codegen {
namespace {

// Adds up table[keys[i]], and stores each sum, until a key is beyond the table; gives the number of turns that were
// done, and the sum by `end`.
constexpr const char* kLookUp = R"(
define i64 @look_up(ptr %to, ptr %keys, ptr %table, i64 %length, i64 %low, i64 %high, ptr %end) {
entry:
  br label %turn
turn:
  %i = phi i64 [ %low, %entry ], [ %next, %inside ]
  %sum = phi i64 [ 0, %entry ], [ %more, %inside ]
  %key.at = getelementptr i64, ptr %keys, i64 %i
  %key = load i64, ptr %key.at
  %ok = icmp ult i64 %key, %length
  br i1 %ok, label %inside, label %beyond
inside:
  %at = getelementptr i64, ptr %table, i64 %key
  %value = load i64, ptr %at
  %more = add i64 %sum, %value
  %place = getelementptr i64, ptr %to, i64 %i
  store i64 %more, ptr %place
  %next = add nsw i64 %i, 1
  %again = icmp slt i64 %next, %high
  br i1 %again, label %turn, label %done
beyond:
  store i64 %sum, ptr %end
  ret i64 %i
done:
  store i64 %more, ptr %end
  ret i64 %next
})";

struct Found {
  std::int64_t turns;
  std::int64_t sum;
  std::vector<std::int64_t> sums;
  bool operator==(const Found&) const = default;
};

using LookUp = std::int64_t(std::int64_t*, const std::int64_t*, const std::int64_t*, std::int64_t,
                            std::int64_t, std::int64_t, std::int64_t*);

Found look_up(const LoadedCode& code, std::int64_t low, std::int64_t high, std::int64_t bad) {
  std::vector<std::int64_t> keys(100);
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = static_cast<std::int64_t>(i * 7 % 10);
  if (bad >= 0) keys[static_cast<std::size_t>(bad)] = bad % 2 == 0 ? -1 : 10;
  std::vector<std::int64_t> table(10);
  for (std::size_t i = 0; i < table.size(); ++i) table[i] = static_cast<std::int64_t>(i * i + 1);
  Found found{0, -1, std::vector<std::int64_t>(100, -7)};
  found.turns = code.function<LookUp>("look_up")(found.sums.data(), keys.data(), table.data(), 10, low, high,
                                                 &found.sum);
  return found;
}

TEST(UnrollSmallLoops, EveryTurnOnceAndInOrder) {
  const auto compiler = new_compiler();
  auto alone = compiler->compile(parse(*compiler, kLookUp), Pipeline::kFunctions);
  auto several = compiler->compile(parse(*compiler, kLookUp), Pipeline::kOneLane);
  ASSERT_TRUE(alone.ok() && several.ok());
  for (const std::int64_t low : {0, 3}) {
    // A loop that ends before it begins has one turn.
    for (std::int64_t high = low - 1; high <= low + 34; ++high) {
      for (std::int64_t bad = -1; bad <= high; ++bad)
        EXPECT_EQ(look_up(*several, low, high, bad), look_up(*alone, low, high, bad)) << high << ' ' << bad;
    }
  }
}

TEST(UnrollSmallLoops, OneTestOfTheEndForSeveralTurns) {
  const auto compiler = new_compiler();
  IrModule ir = parse(*compiler, kLookUp);
  auto machine = compiler->target().new_machine();
  ASSERT_TRUE(machine.ok());
  llvm::Function& function = *ir.module->getFunction("look_up");
  unroll_small_loops(function, **machine);
  EXPECT_FALSE(llvm::verifyModule(*ir.module, &llvm::errs()));
  unsigned checks = 0;
  unsigned ends = 0;
  for (const llvm::BasicBlock& block : function) {
    const auto* branch = llvm::dyn_cast<llvm::BranchInst>(block.getTerminator());
    if (branch == nullptr || !branch->isConditional()) continue;
    const auto* compare = llvm::dyn_cast<llvm::ICmpInst>(branch->getCondition());
    if (compare == nullptr) continue;
    checks += compare->getPredicate() == llvm::ICmpInst::ICMP_ULT ? 1U : 0U;
    ends += compare->getPredicate() == llvm::ICmpInst::ICMP_SLT ? 1U : 0U;
  }
  EXPECT_EQ(checks, 9U) << "eight turns at a time, and one alone";
  EXPECT_EQ(ends, 1U);
}

}  // namespace
}  // namespace dhpvm::codegen
