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

// Adds up table[keys[i]], and stores each sum, until a key is beyond the table; returns the number of turns, and the
// sum through `end`.
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
    // A loop that is empty runs one turn.
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

// Adds up values[k] for k in rows[i]..rows[i + 1], as in a sparse product; returns the first k beyond the values, or
// -1. The check follows the exit if LLVM has rotated the loop.
constexpr const char* kRows = R"(
define i64 @rows(ptr %rows, i64 %n, ptr %values, i64 %length, ptr %sums) {
entry:
  br label %row
row:
  %i = phi i64 [ 0, %entry ], [ %i.next, %row.done ]
  %begin.at = getelementptr i64, ptr %rows, i64 %i
  %begin = load i64, ptr %begin.at
  %i.next = add i64 %i, 1
  %end.at = getelementptr i64, ptr %rows, i64 %i.next
  %end = load i64, ptr %end.at
  %some = icmp slt i64 %begin, %end
  br i1 %some, label %turn, label %row.done
turn:
  %k = phi i64 [ %begin, %row ], [ %k.next, %inside ]
  %sum = phi i64 [ 0, %row ], [ %more, %inside ]
  %ok = icmp ult i64 %k, %length
  br i1 %ok, label %inside, label %beyond, !prof !0
inside:
  %at = getelementptr i64, ptr %values, i64 %k
  %value = load i64, ptr %at
  %more = add i64 %sum, %value
  %k.next = add nsw i64 %k, 1
  %again = icmp slt i64 %k.next, %end
  br i1 %again, label %turn, label %row.done
row.done:
  %all = phi i64 [ 0, %row ], [ %more, %inside ]
  %sum.at = getelementptr i64, ptr %sums, i64 %i
  store i64 %all, ptr %sum.at
  %last = icmp eq i64 %i.next, %n
  br i1 %last, label %done, label %row
beyond:
  ret i64 %k
done:
  ret i64 -1
}
!0 = !{!"branch_weights", i32 2000, i32 1})";

struct Summed {
  std::int64_t beyond;
  std::vector<std::int64_t> sums;
  bool operator==(const Summed&) const = default;
};

Summed sum_rows(const LoadedCode& code, const std::vector<std::int64_t>& rows, std::int64_t length) {
  using Rows =
      std::int64_t(const std::int64_t*, std::int64_t, const std::int64_t*, std::int64_t, std::int64_t*);
  std::vector<std::int64_t> values(64);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::int64_t>(i * i + 1);
  Summed summed{0, std::vector<std::int64_t>(rows.size() - 1, -7)};
  const auto n = static_cast<std::int64_t>(rows.size()) - 1;
  summed.beyond = code.function<Rows>("rows")(rows.data(), n, values.data(), length, summed.sums.data());
  return summed;
}

TEST(UnrollSmallLoops, RowsAreCheckedOnce) {
  const auto compiler = new_compiler();
  auto always = compiler->compile(parse(*compiler, kRows), Pipeline::kFunctions);
  auto once = compiler->compile(parse(*compiler, kRows), Pipeline::kOneLane);
  ASSERT_TRUE(always.ok() && once.ok());
  for (std::int64_t length = 0; length <= 64; ++length) {
    for (const std::vector<std::int64_t>& rows : {std::vector<std::int64_t>{0, 0, 1, 17, 17, 30, 64},
                                                  {5, 3, 20, 21, 64},
                                                  {60, 64, 2, 9},
                                                  {-1, 3},
                                                  {-3, -1, 4}})
      EXPECT_EQ(sum_rows(*once, rows, length), sum_rows(*always, rows, length)) << length << ' ' << rows[0];
  }
}

// The unchecked and the checked copy of the inner loop.
TEST(UnrollSmallLoops, RowsThatAreInsideCheckNothing) {
  const auto compiler = new_compiler();
  IrModule ir = parse(*compiler, kRows);
  auto machine = compiler->target().new_machine();
  ASSERT_TRUE(machine.ok());
  llvm::Function& function = *ir.module->getFunction("rows");
  unroll_small_loops(function, **machine);
  EXPECT_FALSE(llvm::verifyModule(*ir.module, &llvm::errs()));
  unsigned ends = 0;
  unsigned checks = 0;
  for (const llvm::BasicBlock& block : function) {
    const auto* branch = llvm::dyn_cast<llvm::BranchInst>(block.getTerminator());
    if (branch == nullptr || !branch->isConditional()) continue;
    checks += branch->hasMetadata(llvm::LLVMContext::MD_prof) ? 1U : 0U;
    const auto* compare = llvm::dyn_cast<llvm::ICmpInst>(branch->getCondition());
    ends += compare != nullptr && compare->getPredicate() == llvm::ICmpInst::ICMP_SLT ? 1U : 0U;
  }
  EXPECT_EQ(checks, 1U);
  EXPECT_EQ(ends, 3U) << "of both, and whether there is a turn";
}

// A loop of three turns is fully unrolled although LLVM's O2 would not: neighbours of a cell, with the size of the grid
// checked in each turn.
TEST(ShortLoops, AreUnrolledAltogether) {
  std::string text = R"(
define i64 @neighbours(ptr %row, i64 %at, i64 %size) {
entry:
  br label %turn
turn:
  %k = phi i64 [ 0, %entry ], [ %next, %turn ]
  %sum0 = phi i64 [ 0, %entry ], [ %last, %turn ]
  %place = add i64 %at, %k
)";
  constexpr int kCells = 10;
  for (int i = 0; i < kCells; ++i) {
    const std::string n = std::to_string(i);
    text += "  %a" + n + " = add i64 %place, " + n + "\n  %r" + n + " = urem i64 %a" + n + ", %size\n  %p" +
            n + " = getelementptr i64, ptr %row, i64 %r" + n + "\n  %v" + n + " = load volatile i64, ptr %p" +
            n + "\n  %x" + n + " = xor i64 %v" + n + ", %sum" + n + "\n  %sum" + std::to_string(i + 1) +
            " = mul i64 %x" + n + ", 31\n";
  }
  text += "  %last = add i64 %sum" + std::to_string(kCells) + ", %k" + R"(
  %next = add nsw i64 %k, 1
  %again = icmp slt i64 %next, 3
  br i1 %again, label %turn, label %done
done:
  ret i64 %last
})";
  const auto compiler = new_compiler();
  const IrModule ir = parse(*compiler, text);
  auto machine = compiler->target().new_machine();
  ASSERT_TRUE(machine.ok());
  ASSERT_TRUE(optimise(*ir.module, **machine, Pipeline::kFunctions).ok());
  EXPECT_EQ(ir.module->getFunction("neighbours")->size(), 1u);
}

}  // namespace
}  // namespace dhpvm::codegen
