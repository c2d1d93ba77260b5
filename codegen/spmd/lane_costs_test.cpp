// SPDX-License-Identifier: Apache-2.0
#include "codegen/spmd/lane_costs.h"

#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/SourceMgr.h>

#include "codegen/spmd/test_kernel.h"

namespace dhpvm::codegen::spmd {
namespace {

// Estimates @body(i64 %i, ptr %a, ptr %b, ptr %c, i64 %n) for 16 lanes in vectors of 512 bits.
LaneCosts costs_of(const std::string& text) {
  IrModule ir = test_compiler().new_module("test");
  llvm::SMDiagnostic problem;
  const bool failed =
      llvm::parseAssemblyInto(llvm::MemoryBufferRef(text, "test"), ir.module.get(), nullptr, problem);
  EXPECT_FALSE(failed) << problem.getMessage().str();
  if (failed) return {};
  llvm::Function& body = *ir.module->getFunction("body");
  SpmdOptions options;
  options.width = 16;
  options.vector_bits = 512;
  options.args = {ArgShape::kLaneIndex, ArgShape::kUniform, ArgShape::kUniform, ArgShape::kUniform,
                  ArgShape::kUniform};
  EXPECT_TRUE(prepare(body, options.args).ok());
  Result<llvm::Function*> wide = vectorize(body, options);
  EXPECT_TRUE(wide.ok());
  return wide.ok() ? estimate_costs(body, **wide, options) : LaneCosts{};
}

constexpr const char* kHead = "define void @body(i64 %i, ptr %a, ptr %b, ptr %c, i64 %n) {\nentry:\n";

TEST(LaneCosts, NeighboursGain) {
  const LaneCosts costs = costs_of(std::string(kHead) + R"(
      %from = getelementptr float, ptr %a, i64 %i
      %x = load float, ptr %from
      %y = fmul float %x, 3.0
      %to = getelementptr float, ptr %b, i64 %i
      store float %y, ptr %to
      ret void
    })");
  EXPECT_FALSE(costs.lanes_lose()) << costs.one << " " << costs.several;
  EXPECT_LT(costs.several * 4, costs.one);
}

// Fields that are far apart, with little arithmetic.
TEST(LaneCosts, ElementsFarApartLose) {
  const LaneCosts costs = costs_of(std::string(kHead) + R"(
      %place = mul i64 %i, 56
      %from = getelementptr i8, ptr %a, i64 %place
      %x = load double, ptr %from
      %other = getelementptr i8, ptr %from, i64 24
      %y = load double, ptr %other
      %z = fadd double %x, %y
      store double %z, ptr %from
      store double %x, ptr %other
      ret void
    })");
  EXPECT_TRUE(costs.lanes_lose()) << costs.one << " " << costs.several;
}

std::string loop(const std::string& body) {
  return std::string(kHead) + R"(
      br label %loop
    loop:
      %k = phi i64 [ 0, %entry ], [ %next, %loop ]
      %at = phi i64 [ %i, %entry ], [ %then, %loop ]
      %sum = phi float [ 0.0, %entry ], [ %more, %loop ])" +
         body + R"(
      %more = fadd float %sum, %x
      %next = add nsw i64 %k, 1
      %again = icmp slt i64 %next, %n
      br i1 %again, label %loop, label %done
    done:
      %to = getelementptr float, ptr %c, i64 %i
      store float %more, ptr %to
      ret void
    })";
}

// Each loaded value is the address of the next load: lanes share the latency.
TEST(LaneCosts, WalksThroughMemoryGain) {
  const LaneCosts costs = costs_of(loop(R"(
      %link = getelementptr i32, ptr %a, i64 %at
      %number = load i32, ptr %link
      %then = zext i32 %number to i64
      %from = getelementptr float, ptr %b, i64 %then
      %x = load float, ptr %from)"));
  EXPECT_FALSE(costs.lanes_lose()) << costs.one << " " << costs.several;
}

// The same number of elements, at places that the turn before does not decide.
TEST(LaneCosts, SumsOfElementsFromAllOverMemoryLose) {
  const LaneCosts costs = costs_of(loop(R"(
      %then = add nsw i64 %at, 7
      %far = mul i64 %i, 1000
      %place = add i64 %far, %k
      %link = getelementptr i32, ptr %a, i64 %place
      %number = load i32, ptr %link
      %index = zext i32 %number to i64
      %from = getelementptr float, ptr %b, i64 %index
      %x = load float, ptr %from)"));
  EXPECT_TRUE(costs.lanes_lose()) << costs.one << " " << costs.several;
}

// Two elements that change places if what they hold says so: which, one iteration alone foretells half of the time.
TEST(LaneCosts, BranchesOnDataGain) {
  const LaneCosts costs = costs_of(std::string(kHead) + R"(
      %from = getelementptr i32, ptr %a, i64 %i
      %partner = xor i64 %i, %n
      %other = getelementptr i32, ptr %a, i64 %partner
      %x = load i32, ptr %from
      %y = load i32, ptr %other
      %swaps = icmp sgt i32 %x, %y
      br i1 %swaps, label %swap, label %end
    swap:
      store i32 %y, ptr %from
      store i32 %x, ptr %other
      br label %end
    end:
      ret void
    })");
  EXPECT_FALSE(costs.lanes_lose()) << costs.one << " " << costs.several;
}

}  // namespace
}  // namespace dhpvm::codegen::spmd
