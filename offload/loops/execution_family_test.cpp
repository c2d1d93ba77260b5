// SPDX-License-Identifier: Apache-2.0
#include "offload/loops/execution_family.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "bytecode/assembler.h"
#include "offload/loops/execution_memo.h"
#include "offload/loops/range.h"

namespace dhpvm::offload {
namespace {

using Numbers = std::vector<std::int64_t>;

ExecutionFamily family_of(const std::vector<Numbers>& members, std::int64_t reach = 0) {
  ExecutionFamily family(members[0]);
  for (std::size_t n = 1; n < members.size(); ++n) family = *family.with(members[n], reach);
  return family;
}

TEST(ExecutionFamily, HasNumbersThatDependOnEachOtherAsThoseSeenDid) {
  const ExecutionFamily family = family_of({{1, 7, 2, 20}, {2, 7, 4, 19}}, 3);
  EXPECT_TRUE(family.contains(Numbers{5, 7, 10, 16}));
  EXPECT_FALSE(family.contains(Numbers{6, 7, 12, 15})) << "beyond the reach";
  EXPECT_FALSE(family.contains(Numbers{5, 8, 10, 16})) << "another constant";
  EXPECT_FALSE(family.contains(Numbers{5, 7, 9, 16})) << "not twice the first";
  EXPECT_FALSE(family.contains(Numbers{5, 7, 10, 16, 0}));
  EXPECT_EQ(family.differences(Numbers{5, 8, 9, 16}), 2u);
}

TEST(ExecutionFamily, ForgetsADependenceThatDoesNotHold) {
  const ExecutionFamily family = family_of({{1, 2}, {2, 3}, {3, 2}});
  for (std::int64_t first = 1; first <= 3; ++first) {
    EXPECT_TRUE(family.contains(Numbers{first, 2}));
    EXPECT_TRUE(family.contains(Numbers{first, 3}));
  }
  EXPECT_FALSE(family.contains(Numbers{1, 4}));
}

TEST(ExecutionFamily, ComparesNoNumbersThatAreTooLarge) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  const ExecutionFamily family(Numbers{kMost, 1});
  EXPECT_TRUE(family.with(Numbers{kMost, 2}, 1).has_value());
  EXPECT_FALSE(family.with(Numbers{kMost - 1, 2}, 1).has_value());
  EXPECT_FALSE(family.with(Numbers{kMost, -kMost}, 1).has_value());
}

TEST(ProvenFamilies, FindTheLimitsOfAProofInFewTries) {
  constexpr std::int64_t kLimit = 1000;
  ProvenFamilies families;
  int tries = 0;
  const auto holds = [&](const ExecutionFamily& family) {
    ++tries;
    return family.numbers()[0].least >= 0 && family.numbers()[0].most < kLimit;
  };
  for (int turn = 0; turn < 2; ++turn) {
    for (std::int64_t n = 0; n < kLimit; ++n) {
      const Numbers numbers{n, 5};
      if (!families.contain(numbers)) families.add(numbers, holds);
      EXPECT_FALSE(families.contain(Numbers{kLimit, 5}));
    }
  }
  EXPECT_LT(tries, 100);
}

TEST(ProvenFamilies, TryMoreAndMoreRarelyWhatHasNothingInCommon) {
  ProvenFamilies families;
  int tries = 0;
  const auto never = [&](const ExecutionFamily& /*family*/) {
    ++tries;
    return false;
  };
  for (std::int64_t n = 0; n < 10'000; ++n) families.add(Numbers{n * n % 7919, n % 11}, never);
  EXPECT_LT(tries, 30);
}

// Row i, from k + 1 on, has row k taken from it; the scalar is k, the array n by n.
TEST(ExecutionFamily, OneProofIsForAllStepsOfAnElimination) {
  auto module = bytecode::assemble(R"(
module 1.0
type string str
type resource resource
type array [f64, 2]: f64 rank 2
function body(i64, i64, [f64, 2]) registers 8 1
  array.dim p2, r0, 1
  move.p p3, p1
  jump.le.i64 p2, p3, L9
L4:
  index2 p4, r0, p1, p3
  load.f64 p5, r0, p4
  index2 p6, r0, p0, p3
  store.f64 r0, p6, p5
  for.i64 p3, p2, L4
L9:
  return
end

kernel body dims 1
)");
  ASSERT_TRUE(module.ok()) << module.error().to_string();
  const Footprint footprint = analyse(*module, module->kernels[0]);
  const auto numbers = [&](std::int64_t k, std::int64_t n) {
    const std::uint64_t scalar = static_cast<std::uint64_t>(k);
    codegen::KernelArray array;
    array.shape = {n * n, n * n, n * n, {n, n, 1}};
    Numbers result;
    numbers_of(footprint, {{1, {k + 1}, {n}}, {&scalar, 1}, {&array, 1}}, result);
    return result;
  };
  const auto cannot_fail = [&](const ExecutionFamily& family) {
    Ranges ranges(footprint, family);
    return std::ranges::all_of(footprint.accesses,
                               [&](const Access& access) { return ranges.cannot_fail(access); });
  };
  const ExecutionFamily steps = family_of({numbers(0, 9), numbers(1, 9)}, 100);
  EXPECT_TRUE(cannot_fail(steps));
  EXPECT_TRUE(steps.contains(numbers(7, 9)));
  EXPECT_FALSE(cannot_fail(family_of({numbers(1, 9), numbers(0, 9)}, 1))) << "row -1";
  EXPECT_TRUE(cannot_fail(family_of({numbers(0, 9), numbers(0, 10), numbers(1, 10)}, 5)))
      << "of several sizes";
}

}  // namespace
}  // namespace dhpvm::offload
