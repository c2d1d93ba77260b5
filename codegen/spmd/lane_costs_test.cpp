// SPDX-License-Identifier: Apache-2.0
#include "codegen/spmd/lane_costs.h"

#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/SourceMgr.h>

#include <cstdint>

#include "codegen/spmd/staging.h"
#include "codegen/spmd/test_kernel.h"

namespace dhpvm::codegen::spmd {
namespace {

enum class OperandForm : std::uint8_t { kAsTheyLie, kStaged };

// Estimates @body(i64 %i, ptr %a, ptr %b, ptr %c, i64 %n) for 16 lanes in vectors of so many bits.
LaneCosts costs_of(const std::string& text, unsigned vector_bits = 512,
                   OperandForm form = OperandForm::kAsTheyLie) {
  IrModule ir = test_compiler().new_module("test");
  llvm::SMDiagnostic problem;
  const bool failed =
      llvm::parseAssemblyInto(llvm::MemoryBufferRef(text, "test"), ir.module.get(), nullptr, problem);
  EXPECT_FALSE(failed) << problem.getMessage().str();
  if (failed) return {};
  llvm::Function& body = *ir.module->getFunction("body");
  SpmdOptions options;
  options.width = 16;
  options.vector_bits = vector_bits;
  options.args = {ArgShape::kLaneIndex, ArgShape::kUniform, ArgShape::kUniform, ArgShape::kUniform,
                  ArgShape::kUniform};
  EXPECT_TRUE(prepare(body, options.args).ok());
  if (form == OperandForm::kStaged) stage_operands(body, {.spmd = options});
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

// A window that is kept inside of its array: the lanes lie at the edge in few vectors, and share the weight.
TEST(LaneCosts, WindowsKeptInsideGain) {
  const std::string text = "declare i64 @llvm.smax.i64(i64, i64)\n" + loop(R"(
      %then = add nsw i64 %at, 1
      %left = sub i64 %i, %k
      %inside = call i64 @llvm.smax.i64(i64 %left, i64 0)
      %from = getelementptr float, ptr %a, i64 %inside
      %pixel = load float, ptr %from
      %place = getelementptr float, ptr %b, i64 %k
      %weight = load float, ptr %place
      %x = fmul float %pixel, %weight)");
  for (const unsigned vector_bits : {256U, 512U}) {
    const LaneCosts costs = costs_of(text, vector_bits);
    EXPECT_LT(costs.several * 2, costs.one) << vector_bits;
  }
}

// Neighbours from a list, of which what is read decides whether they count.
TEST(LaneCosts, NeighboursWithinADistanceGain) {
  const std::string text = std::string(kHead) + R"(
      %own = getelementptr double, ptr %b, i64 %i
      %y = load double, ptr %own
      br label %loop
    loop:
      %k = phi i64 [ 0, %entry ], [ %next, %join ]
      %sum = phi double [ 0.0, %entry ], [ %more, %join ]
      %row = mul i64 %i, 64
      %place = add i64 %row, %k
      %link = getelementptr i32, ptr %a, i64 %place
      %number = load i32, ptr %link
      %index = zext i32 %number to i64
      %from = getelementptr double, ptr %b, i64 %index
      %x = load double, ptr %from
      %d = fsub double %x, %y
      %r2 = fmul double %d, %d
      %is_near = fcmp olt double %r2, 2.0
      br i1 %is_near, label %near, label %join
    near:
      %s2 = fdiv double 1.0, %r2
      %s4 = fmul double %s2, %s2
      %s6 = fmul double %s4, %s2
      %s8 = fsub double %s6, 0.5
      %force = fmul double %s6, %s8
      %part = fmul double %force, %d
      %s10 = fmul double %part, 24.0
      %s12 = fadd double %s10, %s2
      %added = fadd double %sum, %s12
      br label %join
    join:
      %more = phi double [ %sum, %loop ], [ %added, %near ]
      %next = add nsw i64 %k, 1
      %again = icmp slt i64 %next, 64
      br i1 %again, label %loop, label %done
    done:
      %to = getelementptr double, ptr %c, i64 %i
      store double %more, ptr %to
      ret void
    })";
  for (const unsigned vector_bits : {256U, 512U}) {
    const LaneCosts costs = costs_of(text, vector_bits);
    EXPECT_FALSE(costs.lanes_lose()) << costs.one << " " << costs.several << " " << vector_bits;
  }
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

// Rows of counts, set to 0 and counted up at places that are read. Staging cuts the first loop into blocks, which must
// not count for more than the second one.
TEST(LaneCosts, CountsInRowsLose) {
  const LaneCosts costs = costs_of(std::string(kHead) + R"(
      %row = mul nsw i64 %i, 1000
      br label %clear
    clear:
      %k = phi i64 [ 0, %entry ], [ %next, %clear ]
      %place = add nsw i64 %row, %k
      %cleared = getelementptr i32, ptr %b, i64 %place
      store i32 0, ptr %cleared
      %next = add nsw i64 %k, 1
      %again = icmp slt i64 %next, %n
      br i1 %again, label %clear, label %count
    count:
      %m = phi i64 [ 0, %clear ], [ %then, %count ]
      %at = add nsw i64 %row, %m
      %from = getelementptr i8, ptr %a, i64 %at
      %x = load i8, ptr %from
      %column = zext i8 %x to i64
      %counter = add nsw i64 %row, %column
      %to = getelementptr i32, ptr %b, i64 %counter
      %sum = load i32, ptr %to
      %more = add i32 %sum, 1
      store i32 %more, ptr %to
      %then = add nsw i64 %m, 1
      %goes.on = icmp slt i64 %then, %n
      br i1 %goes.on, label %count, label %done
    done:
      ret void
    })",
                                   256, OperandForm::kStaged);
  EXPECT_TRUE(costs.lanes_lose()) << costs.one << " " << costs.several;
}

// The number of lanes for a body that parts at both conditions, and divides on the way.
unsigned width_of(const std::string& first, const std::string& second, unsigned vector_bits) {
  const std::string text = std::string(kHead) + R"(
      %from = getelementptr float, ptr %a, i64 %i
      %x = load float, ptr %from
      %is = )" + first + R"(
      br i1 %is, label %then, label %end
    then:
      %y = fdiv float 1.0, %x
      %is.too = )" + second +
                           R"(
      br i1 %is.too, label %inner, label %end
    inner:
      %z = fdiv float %y, 3.0
      br label %end
    end:
      %result = phi float [ 0.0, %entry ], [ %y, %then ], [ %z, %inner ]
      %to = getelementptr float, ptr %b, i64 %i
      store float %result, ptr %to
      ret void
    })";
  IrModule ir = test_compiler().new_module("test");
  llvm::SMDiagnostic problem;
  const bool failed =
      llvm::parseAssemblyInto(llvm::MemoryBufferRef(text, "test"), ir.module.get(), nullptr, problem);
  EXPECT_FALSE(failed) << problem.getMessage().str();
  if (failed) return 0;
  llvm::Function& body = *ir.module->getFunction("body");
  const std::vector<ArgShape> args = {ArgShape::kLaneIndex, ArgShape::kUniform, ArgShape::kUniform,
                                      ArgShape::kUniform, ArgShape::kUniform};
  EXPECT_TRUE(prepare(body, args).ok());
  return choose_width(body, args, vector_bits);
}

TEST(Width, MasksOfSeveralVectorsAreNotPacked) {
  const std::string on_data[] = {"fcmp ogt float %x, 0.0", "fcmp ogt float %y, 2.0"};
  EXPECT_EQ(width_of(on_data[0], on_data[1], 256), 8u);
  EXPECT_GT(width_of(on_data[0], on_data[1], 512), 16u) << "masks have registers of their own";
  EXPECT_GT(width_of("icmp sgt i64 %i, 0", "icmp slt i64 %i, %n", 256), 8u) << "all lanes go the same way";
}

}  // namespace
}  // namespace dhpvm::codegen::spmd
