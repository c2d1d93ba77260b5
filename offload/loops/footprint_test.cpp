// SPDX-License-Identifier: Apache-2.0
// Shapes of code that no compiler of ours writes, and the analysis has to get right or refuse all the same.
#include "offload/loops/footprint.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cstddef>

#include "bytecode/assembler.h"
#include "bytecode/verifier.h"
#include "offload/loops/execution_memo.h"
#include "offload/loops/range.h"

namespace dhpvm::offload {
namespace {

// A module whose only kernel takes two scalars and an array of 100 elements.
bytecode::Module module_of(const std::string& functions) {
  Result<bytecode::Module> module =
      bytecode::assemble("module 1.0\ntype string str\ntype resource resource\ntype array [f32]: f32\n" +
                         functions + "\nkernel body dims 1\n");
  EXPECT_TRUE(module.ok()) << module.error().to_string();
  const Status verified = bytecode::verify(*module);
  EXPECT_TRUE(verified.ok()) << verified.error().to_string();
  return std::move(module).value();
}

codegen::KernelArray hundred() {
  codegen::KernelArray array;
  array.shape.length = array.shape.readable = array.shape.writable = array.shape.dims[0] = 100;
  return array;
}

// The range of the last access in iterations 0 to 9, both scalars being 5.
Range last_range(const Footprint& footprint) {
  const std::uint64_t scalars[] = {5, 5};
  const codegen::KernelArray array = hundred();
  Ranges ranges(footprint, {{1, {0}, {10}}, scalars, {&array, 1}});
  return ranges.index(footprint.accesses.back());
}

TEST(Footprint, ALoopEnteredInItsMiddleIsRefused) {
  const bytecode::Module module = module_of(R"(
function body(i64, i64, i64, [f32]) registers 5 1
  imm p3, 0
  jump Middle
Top:
  load.f32 p4, r0, p3
Middle:
  add.imm.i64 p3, p3, 1
  jump.le.i64 p1, p3, Out
  loop Top
Out:
  return
end)");
  const Footprint footprint = analyse(module, module.kernels[0]);
  EXPECT_FALSE(footprint.complete);
  EXPECT_EQ(footprint.arrays[0].kind, ArrayClass::kScattered);
  EXPECT_NE(footprint.arrays[0].reason.find("middle"), std::string::npos);
}

TEST(Footprint, ASecondEntryIsRefused) {
  // The scalar is above 5 where the loop is entered from above, and only there.
  const bytecode::Module module = module_of(R"(
function body(i64, i64, i64, [f32]) registers 5 1
  imm p3, 0
  jump.le.imm.i64 p1, 5, Middle
Top:
  load.f32 p4, r0, p1
Middle:
  add.imm.i64 p3, p3, 1
  jump.le.i64 p2, p3, Out
  loop Top
Out:
  return
end)");
  EXPECT_FALSE(analyse(module, module.kernels[0]).complete);
}

TEST(Footprint, LoopsThatOverlapAreRefused) {
  const bytecode::Module module = module_of(R"(
function body(i64, i64, i64, [f32]) registers 6 1
  imm p3, 0
Outer:
  add.imm.i64 p3, p3, 1
  imm p4, 0
  jump.eq.imm.i64 p3, 3, Middle
Inner:
  load.f32 p5, r0, p3
  jump.le.i64 p1, p3, Out
  jump.eq.imm.i64 p4, 7, Middle
  add.imm.i64 p4, p4, 1
  loop Outer
Middle:
  add.imm.i64 p4, p4, 1
  loop Inner
Out:
  return
end)");
  EXPECT_FALSE(analyse(module, module.kernels[0]).complete);
}

TEST(Footprint, ACallInALoopOverwritesItsWindow) {
  const bytecode::Module module = module_of(R"(
function far() -> i64 registers 1 0
  imm p0, 50
  return
end
function body(i64, i64, i64, [f32]) registers 7 1
  imm p3, 0
  imm p5, 1
Top:
  load.f32 p4, r0, p5
  call p5, r1, far
  for.i64 p3, p1, Top
  return
end)");
  const Footprint footprint = analyse(module, module.kernels[0]);
  ASSERT_TRUE(footprint.complete);
  const Range range = last_range(footprint);
  EXPECT_LE(range.low, 1);
  EXPECT_GE(range.high, 50);
}

TEST(Footprint, ACounterThatTheLoopItselfMoves) {
  const bytecode::Module module = module_of(R"(
function body(i64, i64, i64, [f32]) registers 5 1
  imm p3, 0
Top:
  load.f32 p4, r0, p3
  add.imm.i64 p3, p3, 2
  for.i64 p3, p1, Top
  return
end)");
  EXPECT_EQ(last_range(analyse(module, module.kernels[0])), (Range{0, 4}));
}

TEST(Footprint, AnyOfSeveralArraysIsNoneInParticular) {
  const bytecode::Module module = module_of(R"(
function pick([f32], [f32], i64) -> [f32] registers 1 2
  jump.le.imm.i64 p0, 3, Other
  return.r r0
Other:
  return.r r1
end
function body(i64, i64, i64, [f32], [f32]) registers 4 4
  move.r r2, r0
  move.r r3, r1
  move.p p3, p0
  call p3, r2, pick
  load.f32 p3, r2, p0
  store.f32 r1, p0, p3
  return
end)");
  const Footprint footprint = analyse(module, module.kernels[0]);
  ASSERT_TRUE(footprint.complete);
  const std::uint32_t load = footprint.find(0, footprint.accesses[0].pc);
  ASSERT_NE(load, kNothing);
  EXPECT_EQ(footprint.accesses[load].array, kNothing);
  EXPECT_FALSE(footprint.accesses[load].provable);
  EXPECT_EQ(footprint.arrays[0].kind, ArrayClass::kScattered);
  EXPECT_EQ(footprint.arrays[1].kind, ArrayClass::kScattered);
}

TEST(Footprint, AKernelThatIsTooLargeIsRefusedInTime) {
  // Every level calls the one below it twice: 2^20 accesses.
  std::string functions = "function f0(i64, [f32]) registers 2 1\n  load.f32 p1, r0, p0\n  return\nend\n";
  for (int level = 1; level <= 20; ++level) {
    const std::string call = fmt::format("  move.p p1, p0\n  move.r r1, r0\n  call p1, r1, f{}\n", level - 1);
    functions +=
        fmt::format("function f{}(i64, [f32]) registers 3 3\n{}{}  return\nend\n", level, call, call);
  }
  functions +=
      "function body(i64, i64, i64, [f32]) registers 5 3\n  move.p p3, p0\n  move.r r1, r0\n  call p3, r1, "
      "f20\n  return\nend\n";
  const bytecode::Module module = module_of(functions);
  const Footprint footprint = analyse(module, module.kernels[0]);
  EXPECT_FALSE(footprint.complete);
  EXPECT_NE(footprint.incomplete_reason.find("too large"), std::string::npos);
}

TEST(Footprint, ACheckedIndexVouchesForThePosition) {
  Result<bytecode::Module> module = bytecode::assemble(R"(module 1.0
type string str
type resource resource
type array [f32, 2]: f32 rank 2
type array [i64]: i64
function body(i64, [f32, 2], [i64]) registers 4 2
  load.i64 p1, r1, p0
  index2 p2, r0, p1, p0
  load.f32 p3, r0, p2
  store.f32 r0, p2, p3
  return
end
kernel body dims 1
)");
  ASSERT_TRUE(module.ok()) << module.error().to_string();
  const Footprint footprint = analyse(*module, module->kernels[0]);
  ASSERT_EQ(footprint.accesses.size(), 4u);
  EXPECT_EQ(footprint.accesses[2].checked_by, 1u);
  EXPECT_EQ(footprint.accesses[3].checked_by, 1u);
  EXPECT_EQ(footprint.accesses[0].checked_by, kNothing);
  EXPECT_FALSE(footprint.accesses[1].provable);
  // Where all of the array may be accessed, the check of the index is the only one that is needed.
  codegen::KernelArray arrays[2] = {};
  arrays[0].shape = {.readable = 12, .writable = 0, .length = 12, .dims = {3, 4}};
  arrays[1].shape = {.readable = 5, .writable = 5, .length = 5, .dims = {5}};
  const LoopChunk chunk{{1, {0}, {5}}, {}, arrays};
  const auto cannot_fail = [&](std::size_t access) {
    return Ranges(footprint, chunk).cannot_fail(footprint.accesses[access]);
  };
  EXPECT_FALSE(cannot_fail(1));
  EXPECT_TRUE(cannot_fail(2));
  EXPECT_FALSE(cannot_fail(3)) << "it may only be read";
  arrays[0].shape.writable = 12;
  EXPECT_TRUE(cannot_fail(3));
}

TEST(Footprint, LengthsFailForNullOnly) {
  const bytecode::Module module = module_of(
      "function body(i64, [f32]) registers 3 1\n  array.length p1, r0\n  load.f32 p2, r0, p0\n  "
      "return\nend\n");
  const Footprint footprint = analyse(module, module.kernels[0]);
  ASSERT_EQ(footprint.accesses[0].kind, AccessKind::kLength);
  codegen::KernelArray arrays[1] = {};
  const LoopChunk chunk{{1, {0}, {5}}, {}, arrays};
  EXPECT_TRUE(Ranges(footprint, chunk).cannot_fail(footprint.accesses[0])) << "a worker has no data";
  arrays[0].shape.length = -1;
  EXPECT_FALSE(Ranges(footprint, chunk).cannot_fail(footprint.accesses[0]));
}

// Results are copied back in whole elements: fields that the device does not write must be there.
TEST(Footprint, ElementsAreOverwrittenWithAllTheirFields) {
  const auto overwrites = [](const std::string& stores) {
    Result<bytecode::Module> module = bytecode::assemble(R"(module 1.0
type string str
type resource resource
type struct Pair
  field a: f32
  field b: u8
type array [Pair]: Pair
function body(i64, [Pair], i64) registers 2 1
)" + stores + R"(
  return
end
kernel body dims 1
)");
    EXPECT_TRUE(module.ok()) << module.error().to_string();
    EXPECT_TRUE(bytecode::verify(*module).ok());
    const Footprint footprint = analyse(*module, module->kernels[0]);
    const codegen::KernelArray array = hundred();
    const std::uint64_t scalar = 5;
    return Ranges(footprint, {{1, {0}, {10}}, {&scalar, 1}, {&array, 1}}).overwrites(0);
  };
  const std::string a = "  store.field.f32 r0, p0, p1, 0:8\n";
  const std::string b = "  store.field.u8 r0, p0, p1, 4:8\n";
  EXPECT_FALSE(overwrites(a));
  EXPECT_FALSE(overwrites(b));
  EXPECT_FALSE(overwrites(b + b));
  EXPECT_TRUE(overwrites(a + b));
  EXPECT_FALSE(overwrites("  jump.le.imm.i64 p0, 3, Other\n" + a + "Other:\n" + b));
}

// The positions at which a second array is read are the elements of the first.
TEST(Footprint, ElementsThatMayBeLookedAtBoundPositions) {
  Result<bytecode::Module> module = bytecode::assemble(R"(module 1.0
type string str
type resource resource
type array [i32]: i32
function body(i64, [i32], [i32]) registers 3 2
  load.i32 p1, r0, p0
  i32.to.i64 p1, p1
  load.i32 p2, r1, p1
  return
end
kernel body dims 1
)");
  ASSERT_TRUE(module.ok()) << module.error().to_string();
  const Footprint footprint = analyse(*module, module->kernels[0]);
  ASSERT_EQ(footprint.accesses.size(), 2u);
  EXPECT_FALSE(footprint.accesses[1].provable);
  std::array<std::int32_t, 100> positions{};
  codegen::KernelArray arrays[] = {hundred(), hundred()};
  arrays[0].data = reinterpret_cast<std::byte*>(positions.data());
  positions[3] = 70;
  positions[4] = -2;
  const auto range_of = [&](std::int64_t low, std::int64_t high, std::uint64_t inspectable) {
    LoopChunk chunk{{1, {low}, {high}}, {}, arrays};
    chunk.inspectable = inspectable;
    Ranges ranges(footprint, chunk);
    EXPECT_EQ(ranges.cannot_fail(footprint.accesses[1]), ranges.index(footprint.accesses[1]).within(0, 99));
    return ranges.index(footprint.accesses[1]);
  };
  EXPECT_EQ(range_of(0, 4, 1), (Range{0, 70}));
  EXPECT_EQ(range_of(0, 5, 1), (Range{-2, 70}));
  EXPECT_EQ(range_of(4, 5, 1), (Range{-2, -2}));
  // Beyond the array nothing is read.
  EXPECT_EQ(range_of(4, 500, 1), (Range{-2, 0}));
  EXPECT_EQ(range_of(0, 4, 2), (Range{-0x80000000ll, 0x7fffffff}));
}

TEST(Footprint, AnExecutionWithTheSameNumbersIsKnown) {
  const bytecode::Module module = module_of(R"(
function body(i64, i64, i64, [f32]) registers 4 1
  add.i64 p0, p0, p1
  load.f32 p3, r0, p0
  return
end)");
  const Footprint footprint = analyse(module, module.kernels[0]);
  std::uint64_t scalars[] = {5, 5};
  codegen::KernelArray array = hundred();
  LoopChunk chunk{{1, {0}, {10}}, scalars, {&array, 1}};
  ExecutionMemo<int> memo;
  EXPECT_EQ(memo.find(footprint, chunk), nullptr);
  memo.keep(1);
  ASSERT_NE(memo.find(footprint, chunk), nullptr);
  scalars[1] = 6;  // no access depends on it
  ASSERT_NE(memo.find(footprint, chunk), nullptr);
  const auto differs_after = [&](auto& number) {
    ++number;
    const bool differs = memo.find(footprint, chunk) == nullptr;
    --number;
    return differs;
  };
  EXPECT_TRUE(differs_after(scalars[0]));
  EXPECT_TRUE(differs_after(chunk.space.low[0]));
  EXPECT_TRUE(differs_after(chunk.space.high[0]));
  EXPECT_TRUE(differs_after(array.shape.readable));
  EXPECT_TRUE(differs_after(array.shape.writable));
  EXPECT_TRUE(differs_after(array.shape.length));
  EXPECT_TRUE(differs_after(array.shape.dims[0]));
  EXPECT_EQ(*memo.find(footprint, chunk), 1);
}

}  // namespace
}  // namespace dhpvm::offload
