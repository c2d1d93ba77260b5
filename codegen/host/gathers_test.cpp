// SPDX-License-Identifier: Apache-2.0
#include "codegen/host/gathers.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>

#include <array>
#include <cstdint>
#include <string>

#include "codegen/host/ir_for_tests.h"
#include "codegen/host/optimise.h"

namespace dhpvm::codegen {
namespace {

// Eight lanes, those in `mask`, copy from from[index] to to[index]; inactive ones have wild indices.
std::string copy_lanes(unsigned bits) {
  return fmt::format(R"(
declare <8 x i{0}> @llvm.masked.gather.v8i{0}.v8p0(<8 x ptr>, i32, <8 x i1>, <8 x i{0}>)
declare void @llvm.masked.scatter.v8i{0}.v8p0(<8 x i{0}>, <8 x ptr>, i32, <8 x i1>)
define void @copy(ptr %from, ptr %to, ptr %indices, ptr %loaded, i8 %bits) {{
  %mask = bitcast i8 %bits to <8 x i1>
  %narrow = load <8 x i32>, ptr %indices, align 4
  %index = sext <8 x i32> %narrow to <8 x i64>
  %sources = getelementptr i{0}, ptr %from, <8 x i64> %index
  %instead = insertelement <8 x i{0}> zeroinitializer, i{0} 77, i64 3
  %values = call <8 x i{0}> @llvm.masked.gather.v8i{0}.v8p0(<8 x ptr> %sources, i32 {1}, <8 x i1> %mask,
                                                           <8 x i{0}> %instead)
  store <8 x i{0}> %values, ptr %loaded, align 1
  %targets = getelementptr i{0}, ptr %to, <8 x i64> %index
  call void @llvm.masked.scatter.v8i{0}.v8p0(<8 x i{0}> %values, <8 x ptr> %targets, i32 {1}, <8 x i1> %mask)
  ret void
}}
define void @copy_all(ptr %from, ptr %to, ptr %indices) {{
  %index = load <8 x i32>, ptr %indices, align 4
  %sources = getelementptr i{0}, ptr %from, <8 x i32> %index
  %values = call <8 x i{0}> @llvm.masked.gather.v8i{0}.v8p0(<8 x ptr> %sources, i32 {1},
      <8 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1>, <8 x i{0}> poison)
  %targets = getelementptr i{0}, ptr %to, <8 x i32> %index
  call void @llvm.masked.scatter.v8i{0}.v8p0(<8 x i{0}> %values, <8 x ptr> %targets, i32 {1},
      <8 x i1> <i1 1, i1 0, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1>)
  ret void
}})",
                     bits, bits / 8);
}

template <typename Element>
void check(const char* cpu) {
  const auto compiler = new_compiler(cpu);
  auto code = compiler->compile(parse(*compiler, copy_lanes(8 * sizeof(Element))), Pipeline::kKernels);
  ASSERT_TRUE(code.ok()) << code.error().to_string();
  std::array<Element, 16> from{};
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<Element>(i * i + 1);
  const std::array<std::int32_t, 8> inside = {3, 0, 15, 7, 7, 1, 14, 2};
  for (unsigned mask = 0; mask < 256; ++mask) {
    std::array<std::int32_t, 8> indices{};
    std::array<Element, 16> expected{};
    std::array<Element, 8> expected_values{};
    for (unsigned lane = 0; lane < 8; ++lane) {
      const bool is_active = (mask >> lane & 1U) != 0;
      const auto at = static_cast<std::size_t>(inside[lane]);
      indices[lane] = is_active ? inside[lane] : (lane % 2 == 0 ? 1 << 29 : -(1 << 29));
      expected_values[lane] = is_active ? from[at] : static_cast<Element>(lane == 3 ? 77 : 0);
      if (is_active) expected[at] = from[at];
    }
    std::array<Element, 16> to{};
    std::array<Element, 8> values{};
    using Copy = void(const Element*, Element*, const std::int32_t*, Element*, std::uint8_t);
    code->function<Copy>("copy")(from.data(), to.data(), indices.data(), values.data(),
                                 static_cast<std::uint8_t>(mask));
    EXPECT_EQ(to, expected) << cpu << ' ' << mask;
    EXPECT_EQ(values, expected_values) << cpu << ' ' << mask;
  }
  std::array<Element, 16> to{};
  using CopyAll = void(const Element*, Element*, const std::int32_t*);
  code->function<CopyAll>("copy_all")(from.data(), to.data(), inside.data());
  for (std::size_t at : {3U, 15U, 7U, 1U, 14U, 2U}) EXPECT_EQ(to[at], from[at]);
  EXPECT_EQ(to[0], Element(0)) << "the second lane stores nothing";
}

TEST(Gathers, ActiveLanesAlone) {
  for (const char* cpu : kCpus) {
    check<std::uint8_t>(cpu);
    check<std::uint16_t>(cpu);
    check<std::uint32_t>(cpu);
    check<std::uint64_t>(cpu);
  }
}

// Without a gather instruction, lanes have no branches, and scalar addresses.
TEST(Gathers, NoBranches) {
#if defined(__x86_64__)
  const auto compiler = new_compiler("x86-64");
  IrModule ir = parse(*compiler, copy_lanes(32));
  auto machine = compiler->target().new_machine();
  ASSERT_TRUE(machine.ok());
  fit_gathers(*ir.module, **machine);
  for (const llvm::Function& function : *ir.module) {
    if (function.isDeclaration()) continue;
    EXPECT_EQ(function.size(), 1U);
    for (const llvm::Instruction& instruction : function.front()) {
      EXPECT_FALSE(llvm::isa<llvm::CallBase>(instruction));
      const auto* extracted = llvm::dyn_cast<llvm::ExtractElementInst>(&instruction);
      if (extracted != nullptr) EXPECT_TRUE(extracted->getType()->isIntegerTy(32));
    }
  }
#else
  GTEST_SKIP() << "the processor that gathers nothing is one of x86-64";
#endif
}

}  // namespace
}  // namespace dhpvm::codegen
