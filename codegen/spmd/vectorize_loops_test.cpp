// SPDX-License-Identifier: Apache-2.0
// Loops in vectorised functions: uniform and divergent ones, and lanes that leave them.
#include "codegen/spmd/vectorize.h"

#include <gtest/gtest.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/SourceMgr.h>

#include <string>
#include <vector>

#include "codegen/spmd/expect_same.h"
#include "codegen/spmd/test_kernel.h"

namespace dhpvm::codegen::spmd {
namespace {

TEST(Vectorize, UniformLoop) {
  const std::string text = R"(
    define float @body(i64 %i, ptr %a, ptr %b, ptr %c, i64 %n) {
    entry:
      br label %loop
    loop:
      %k = phi i64 [ 0, %entry ], [ %k1, %loop ]
      %s = phi float [ 0.0, %entry ], [ %s1, %loop ]
      %pa = getelementptr float, ptr %c, i64 %k
      %x = load float, ptr %pa
      %row = mul i64 %k, %n
      %at = add i64 %row, %i
      %pb = getelementptr float, ptr %b, i64 %at
      %y = load float, ptr %pb
      %p = fmul float %x, %y
      %s1 = fadd float %s, %p
      %k1 = add i64 %k, 1
      %more = icmp slt i64 %k1, %n
      br i1 %more, label %loop, label %done
    done:
      ret float %s1
    })";
  expect_same(text, {Fill::kFloats});
  auto kernel = TestKernel::create(text, 8);
  ASSERT_TRUE(kernel.ok());
  EXPECT_EQ(kernel->vector_text().find("mask"), std::string::npos) << kernel->vector_text();
}

TEST(Vectorize, DivergentLoopWithTwoExits) {
  expect_same(R"(
    define i32 @body(i64 %i, ptr %a, ptr %b, ptr %c, i64 %n) {
    entry:
      %pb = getelementptr float, ptr %b, i64 %i
      %cx = load float, ptr %pb
      %cs = fsub float %cx, 2.0
      br label %loop
    loop:
      %k = phi i32 [ 0, %entry ], [ %k1, %next ]
      %x = phi float [ 0.0, %entry ], [ %x1, %next ]
      %done = icmp eq i32 %k, 50
      br i1 %done, label %out, label %body
    body:
      %xx = fmul float %x, %x
      %far = fcmp ogt float %xx, 4.0
      br i1 %far, label %out, label %next
    next:
      %x1 = fadd float %xx, %cs
      %k1 = add i32 %k, 1
      br label %loop
    out:
      %xo = phi float [ %x, %loop ], [ %xx, %body ]
      %pa = getelementptr float, ptr %a, i64 %i
      store float %xo, ptr %pa
      ret i32 %k
    })",
              {Fill::kFloats});
}

// Lanes leave early at a missing element. All others leave with the last turn: their values live across that edge are
// uniform, and so is the element at that index.
TEST(Vectorize, WhatTheLastTurnLeavesStaysTheSame) {
  const std::string text = R"(
    define i64 @body(i64 %i, ptr %a, ptr %b, ptr %c, i64 %n) {
    entry:
      %pb = getelementptr i32, ptr %b, i64 %i
      %start = load i32, ptr %pb
      br label %loop
    loop:
      %k = phi i64 [ 0, %entry ], [ %k1, %next ]
      %before = phi i64 [ 3, %entry ], [ %k, %next ]
      %at = phi i32 [ %start, %entry ], [ %more, %next ]
      %is_there = icmp ult i32 %at, 90
      br i1 %is_there, label %check, label %missing, !prof !0
    check:
      %pk = getelementptr i32, ptr %c, i64 %before
      %x = load i32, ptr %pk
      %other = icmp eq i32 %x, %at
      br i1 %other, label %rare, label %next
    rare:
      %pa = getelementptr i32, ptr %a, i64 %i
      store i32 %x, ptr %pa
      br label %next
    next:
      %step = phi i32 [ 1, %check ], [ 2, %rare ]
      %more = add i32 %at, %step
      %k1 = add i64 %k, 1
      %again = icmp ult i64 %k1, %n
      br i1 %again, label %loop, label %out
    out:
      %pl = getelementptr i32, ptr %c, i64 %k
      %last = load i32, ptr %pl
      %result = sext i32 %last to i64
      ret i64 %result
    missing:
      %from = shl i64 %before, 8
      ret i64 %from
    }
    !0 = !{!"branch_weights", i32 1000, i32 1})";
  expect_same(text);
  expect_same(text, {Fill::kIntegers, 100, 5});
  auto kernel = TestKernel::create(text, 8);
  ASSERT_TRUE(kernel.ok());
  EXPECT_EQ(kernel->vector_text().find("masked.gather"), std::string::npos) << kernel->vector_text();
}

// Lanes walk along neighbouring elements from different starts: all are active until the last one leaves.
TEST(Vectorize, TurnsOfATriangleBeforeALaneLeaves) {
  const std::string text = R"(
    define i64 @body(i64 %i, ptr %a, ptr %b, ptr %c, i64 %n) {
    entry:
      %first = add i64 %i, 1
      %any = icmp slt i64 %first, %n
      br i1 %any, label %loop, label %out
    loop:
      %j = phi i64 [ %first, %entry ], [ %j1, %next ]
      %count = phi i64 [ 0, %entry ], [ %more, %next ]
      %pb = getelementptr float, ptr %b, i64 %j
      %x = load float, ptr %pb
      %near = fcmp olt float %x, 2.0
      %one = zext i1 %near to i64
      %more = add i64 %count, %one
      %pa = getelementptr float, ptr %a, i64 %j
      br i1 %near, label %next, label %odd
    odd:
      %twice = add i64 %more, %j
      br label %next
    next:
      %j1 = add nsw i64 %j, 1
      %again = icmp slt i64 %j1, %n
      br i1 %again, label %loop, label %out
    out:
      %sum = phi i64 [ 0, %entry ], [ %more, %next ]
      ret i64 %sum
    })";
  expect_same(text, {Fill::kFloats});
  auto kernel = TestKernel::create(text, 8);
  ASSERT_TRUE(kernel.ok());
  EXPECT_NE(kernel->vector_text().find("llvm.vector.reduce.umin"), std::string::npos)
      << kernel->vector_text();
}

TEST(Vectorize, NestedDivergentLoopsWithBreakContinueAndReturn) {
  expect_same(R"(
    define {i32, i32} @body(i64 %i, ptr %a, ptr %b, ptr %c, i64 %n) {
    entry:
      %pb = getelementptr i32, ptr %b, i64 %i
      %x = load i32, ptr %pb
      br label %outer
    outer:
      %j = phi i32 [ 0, %entry ], [ %j1, %outer.next ]
      %s = phi i32 [ 1, %entry ], [ %s3, %outer.next ]
      %j.more = icmp slt i32 %j, %x
      br i1 %j.more, label %inner, label %finish
    inner:
      %k = phi i32 [ 0, %outer ], [ %k1, %inner.next ]
      %s1 = phi i32 [ %s, %outer ], [ %s2, %inner.next ]
      %m = mul i32 %s1, 5
      %t = add i32 %m, %k
      %t7 = and i32 %t, 127
      %trap = icmp eq i32 %t7, 77
      br i1 %trap, label %fail, label %inner.a
    inner.a:
      %t3 = and i32 %t, 3
      %skip = icmp eq i32 %t3, 1
      br i1 %skip, label %inner.next, label %inner.b
    inner.b:
      %stop = icmp eq i32 %t7, 60
      br i1 %stop, label %outer.next, label %inner.c
    inner.c:
      %u = xor i32 %t, %j
      br label %inner.next
    inner.next:
      %s2 = phi i32 [ %t, %inner.a ], [ %u, %inner.c ]
      %k1 = add i32 %k, 1
      %k.more = icmp slt i32 %k1, %j
      br i1 %k.more, label %inner, label %outer.next
    outer.next:
      %s3 = phi i32 [ %s1, %inner.b ], [ %s2, %inner.next ]
      %j1 = add i32 %j, 1
      br label %outer
    fail:
      %r0 = insertvalue {i32, i32} {i32 3, i32 poison}, i32 %t, 1
      ret {i32, i32} %r0
    finish:
      %r1 = insertvalue {i32, i32} {i32 0, i32 poison}, i32 %s, 1
      ret {i32, i32} %r1
    })",
              {Fill::kIntegers, 20});
}

// A binary search: each lane takes one of two back edges, and none waits for the others.
TEST(Vectorize, OneLoopWhereTurnsEndInSeveralPlaces) {
  const std::string text = R"(
    define i64 @body(i64 %i, ptr %a, ptr %b, ptr %c, i64 %n) {
    entry:
      %at = getelementptr i32, ptr %b, i64 %i
      %x = load i32, ptr %at
      br label %head
    head:
      %low = phi i64 [ 0, %entry ], [ %above, %right ], [ %low, %left ]
      %high = phi i64 [ 64, %entry ], [ %high, %right ], [ %middle, %left ]
      %more = icmp ult i64 %low, %high
      br i1 %more, label %look, label %done
    look:
      %sum = add i64 %low, %high
      %middle = lshr i64 %sum, 1
      %place = getelementptr i32, ptr %c, i64 %middle
      %y = load i32, ptr %place
      %less = icmp ult i32 %y, %x
      br i1 %less, label %right, label %left
    right:
      %above = add i64 %middle, 1
      %own = getelementptr i64, ptr %a, i64 %i
      store i64 %above, ptr %own
      br label %head
    left:
      %other = add i64 %i, 512
      %own2 = getelementptr i64, ptr %a, i64 %other
      store i64 %middle, ptr %own2
      br label %head
    done:
      ret i64 %low
    })";
  expect_same(text);
  llvm::LLVMContext context;
  llvm::SMDiagnostic problem;
  const auto module = llvm::parseAssemblyString(text, problem, context);
  ASSERT_NE(module, nullptr) << problem.getMessage().str();
  llvm::Function& body = *module->getFunction("body");
  std::vector<ArgShape> args(body.arg_size(), ArgShape::kUniform);
  args[0] = ArgShape::kLaneIndex;
  ASSERT_TRUE(prepare(body, args).ok());
  llvm::DominatorTree dominators(body);
  EXPECT_EQ(llvm::LoopInfo(dominators).getLoopsInPreorder().size(), 1U);
}

}  // namespace
}  // namespace dhpvm::codegen::spmd
