// SPDX-License-Identifier: Apache-2.0
#include "codegen/spmd/vectorize.h"
#include "base/test_effort.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/SourceMgr.h>

#include <cmath>

#include "codegen/spmd/expect_same.h"
#include "codegen/spmd/test_kernel.h"

namespace dhpvm::codegen::spmd {
namespace {

// `text` with every `<name>` replaced.
std::string filled(std::string text, const std::vector<std::pair<std::string, std::string>>& values) {
  for (const auto& [name, value] : values) {
    const std::string place = "<" + name + ">";
    for (auto at = text.find(place); at != std::string::npos; at = text.find(place, at + value.size())) {
      text.replace(at, place.size(), value);
    }
  }
  return text;
}

TEST(Vectorize, StraightLine) {
  const std::string text = R"(
    define float @body(i64 %i, ptr %a, ptr %b, ptr %c, i64 %n) {
      %pa = getelementptr float, ptr %a, i64 %i
      %pb = getelementptr float, ptr %b, i64 %i
      %x = load float, ptr %pa
      %y = load float, ptr %pb
      %p = fmul float %x, 3.0
      %s = fadd float %p, %y
      store float %s, ptr %pa
      ret float %s
    })";
  expect_same(text, {Fill::kFloats});
  // All lanes run all of it: no masks.
  auto kernel = TestKernel::create(text, 8);
  ASSERT_TRUE(kernel.ok());
  EXPECT_EQ(kernel->vector_text().find("mask"), std::string::npos) << kernel->vector_text();
  EXPECT_EQ(kernel->vector_text().find("i1"), std::string::npos) << kernel->vector_text();
}

TEST(Vectorize, ReversedStridedAndIndirectAccess) {
  expect_same(R"(
    define i32 @body(i64 %i, ptr %a, ptr %b, ptr %c, i64 %n) {
      %j = sub i64 200, %i
      %pb = getelementptr i32, ptr %b, i64 %j
      %x = load i32, ptr %pb
      %i3 = mul i64 %i, 3
      %pc = getelementptr i32, ptr %c, i64 %i3
      %y = load i32, ptr %pc
      %k = sext i32 %y to i64
      %pd = getelementptr i32, ptr %b, i64 %k
      %z = load i32, ptr %pd
      %s = add i32 %x, %z
      %pa = getelementptr i32, ptr %a, i64 %j
      store i32 %s, ptr %pa
      %i5 = add i64 %i3, 1000
      %pe = getelementptr i32, ptr %a, i64 %i5
      store i32 %y, ptr %pe
      ret i32 %s
    })");
}

// The index is out of range in the first lane, below zero: an unsigned comparison that wraps between lanes.
TEST(Vectorize, ChecksThatWrapBetweenTheLanes) {
  expect_same(R"(
    define {i32, i32} @body(i64 %i, ptr %a, ptr %b, ptr %c, i64 %n) {
    entry:
      br label %loop
    loop:
      %k = phi i64 [ 0, %entry ], [ %k1, %body ]
      %s = phi i32 [ 0, %entry ], [ %s1, %body ]
      %at = sub i64 %i, %k
      %in = icmp ult i64 %at, 60
      br i1 %in, label %body, label %trap
    body:
      %pb = getelementptr i32, ptr %b, i64 %at
      %x = load i32, ptr %pb
      %s1 = add i32 %s, %x
      %k1 = add i64 %k, 1
      %more = icmp ne i64 %k1, 5
      br i1 %more, label %loop, label %check
    check:
      %below = icmp slt i64 %i, 40
      %not7 = icmp ne i64 %i, 7
      %fine = and i1 %below, %not7
      br i1 %fine, label %done, label %trap2
    trap:
      %r0 = insertvalue {i32, i32} {i32 1, i32 poison}, i32 %s, 1
      ret {i32, i32} %r0
    trap2:
      ret {i32, i32} {i32 2, i32 0}
    done:
      %pa = getelementptr i32, ptr %a, i64 %i
      store i32 %s1, ptr %pa
      %r1 = insertvalue {i32, i32} {i32 0, i32 poison}, i32 %s1, 1
      ret {i32, i32} %r1
    })");
}

TEST(Vectorize, DivergentIfElse) {
  expect_same(R"(
    define i32 @body(i64 %i, ptr %a, ptr %b, ptr %c, i64 %n) {
      %pb = getelementptr i32, ptr %b, i64 %i
      %x = load i32, ptr %pb
      %o = and i32 %x, 1
      %odd = icmp ne i32 %o, 0
      br i1 %odd, label %then, label %else
    then:
      %pa = getelementptr i32, ptr %a, i64 %i
      store i32 %x, ptr %pa
      %t = mul i32 %x, 7
      br label %join
    else:
      %u = load i32, ptr %c
      %d = add i32 %x, 1
      %q = udiv i32 1000, %d
      %e = add i32 %q, %u
      br label %join
    join:
      %r = phi i32 [ %t, %then ], [ %e, %else ]
      ret i32 %r
    })");
}

// At the edges of a row, another element replaces the missing neighbour: two loads that instcombine merges.
TEST(Vectorize, LoadsChosenByControlFlowStayVectors) {
  const std::string text = R"(
    define i32 @body(i64 %i, ptr %a, ptr %b, ptr %c, i64 %n) {
      %first = icmp eq i64 %i, 0
      br i1 %first, label %here, label %before
    here:
      %p0 = getelementptr i32, ptr %a, i64 %i
      %v0 = load i32, ptr %p0
      br label %left
    before:
      %i1 = sub i64 %i, 1
      %p1 = getelementptr i32, ptr %a, i64 %i1
      %v1 = load i32, ptr %p1
      br label %left
    left:
      %l = phi i32 [ %v0, %here ], [ %v1, %before ]
      %end = sub i64 %n, 1
      %last = icmp ne i64 %i, %end
      br i1 %last, label %after, label %edge
    after:
      %i2 = add i64 %i, 1
      %p2 = getelementptr i32, ptr %a, i64 %i2
      %v2 = load i32, ptr %p2
      br label %right
    edge:
      %v3 = load i32, ptr %b
      br label %right
    right:
      %r = phi i32 [ %v2, %after ], [ %v3, %edge ]
      %pb = getelementptr i32, ptr %b, i64 %i
      %x = load i32, ptr %pb
      %o = and i32 %x, 1
      %odd = icmp ne i32 %o, 0
      br i1 %odd, label %one, label %other
    one:
      %p4 = getelementptr i32, ptr %a, i64 %i
      %v4 = load i32, ptr %p4
      br label %join
    other:
      %p5 = getelementptr i32, ptr %c, i64 %i
      %v5 = load i32, ptr %p5
      br label %join
    join:
      %s = phi i32 [ %v4, %one ], [ %v5, %other ]
      %h = shl i32 %l, 8
      %d = sub i32 %h, %r
      %e = xor i32 %d, %s
      ret i32 %e
    })";
  expect_same(text);
  expect_same(text, {.n = 6});
  auto kernel = TestKernel::create(text, 8);
  ASSERT_TRUE(kernel.ok()) << kernel.error().to_string();
  EXPECT_EQ(kernel->vector_text().find("gather"), std::string::npos) << kernel->vector_text();
}

// Indices clamped to a row, and a choice whose loads have only the index in common.
TEST(Vectorize, LoadsFromClampedIndicesStayVectors) {
  const std::string text = R"(
    declare i64 @llvm.smax.i64(i64, i64)
    declare i64 @llvm.smin.i64(i64, i64)
    define i32 @body(i64 %i, ptr %a, ptr %b, ptr %c, i64 %n) {
      %end = sub i64 %n, 1
      %i1 = sub i64 %i, 3
      %low = call i64 @llvm.smax.i64(i64 %i1, i64 0)
      %both = call i64 @llvm.smin.i64(i64 %low, i64 %end)
      %p1 = getelementptr i32, ptr %a, i64 %both
      %v1 = load i32, ptr %p1
      %i2 = add i64 %i, 2
      %high = call i64 @llvm.smin.i64(i64 %i2, i64 %end)
      %further = add i64 %high, 4
      %p2 = getelementptr i32, ptr %b, i64 %further
      %v2 = load i32, ptr %p2
      %pc = getelementptr i32, ptr %c, i64 %i
      %x = load i32, ptr %pc
      %o = and i32 %x, 1
      %odd = icmp ne i32 %o, 0
      %from = select i1 %odd, ptr %a, ptr %b
      %p3 = getelementptr i32, ptr %from, i64 %i
      %v3 = load i32, ptr %p3
      %h = shl i32 %v1, 8
      %d = sub i32 %h, %v2
      %e = xor i32 %d, %v3
      ret i32 %e
    })";
  expect_same(text);
  expect_same(text, {.n = 6});
  expect_same(text, {.n = 1});
  auto kernel = TestKernel::create(text, 8);
  ASSERT_TRUE(kernel.ok()) << kernel.error().to_string();
  EXPECT_EQ(kernel->vector_text().find("gather"), std::string::npos) << kernel->vector_text();
}

// A load after a loop is unchanged if its predecessors do not run as often as the load.
TEST(Vectorize, LoadsChosenByALoopStayWhereTheyAre) {
  expect_same(R"(
    define i32 @body(i64 %i, ptr %a, ptr %b, ptr %c, i64 %n) {
    entry:
      %start = getelementptr i32, ptr %a, i64 %i
      %pb = getelementptr i32, ptr %b, i64 %i
      %x = load i32, ptr %pb
      %m = and i32 %x, 7
      br label %loop
    loop:
      %k = phi i32 [ 0, %entry ], [ %next, %loop ]
      %p = phi ptr [ %start, %entry ], [ %q, %loop ]
      %sum = phi i32 [ 0, %entry ], [ %more, %loop ]
      %v = load i32, ptr %p
      %more = add i32 %sum, %v
      %q = getelementptr i32, ptr %p, i64 3
      %next = add i32 %k, 1
      %again = icmp ult i32 %next, %m
      br i1 %again, label %loop, label %done
    done:
      %after = load i32, ptr %q
      %r = sub i32 %more, %after
      ret i32 %r
    })");
}

// Dynamic divisors: small ones, which doubles represent exactly, those at that limit, and large ones.
TEST(Vectorize, Divisions) {
  unsigned number = 0;
  for (const char* type : {"i8", "i16", "i32", "i64"}) {
    for (const char* operation : {"sdiv", "udiv", "srem", "urem"}) {
      for (const char* scale :
           {"1", "45035996273705", "45035996273706", "9223372036854775807", "-92233720368547758"}) {
        if (number++ % kTestStride != 0) continue;
        SCOPED_TRACE(std::string(operation) + " " + type + " of numbers up to 100 times " + scale);
        const bool is_wide = std::string_view(type) == "i64";
        expect_same(
            filled(R"(
          define i64 @body(i64 %i, ptr %a, ptr %b, ptr %c, i64 %n) {
            %pa = getelementptr i32, ptr %a, i64 %i
            %a32 = load i32, ptr %pa
            %a64 = zext i32 %a32 to i64
            %large = mul i64 %a64, <scale>
            %pb = getelementptr i32, ptr %b, i64 %i
            %b32 = load i32, ptr %pb
            %b64 = zext i32 %b32 to i64
            %around = sub i64 %b64, 50
            %is0 = icmp eq i64 %around, 0
            br i1 %is0, label %none, label %some
          none:
            ret i64 -1
          some:
            %x = <narrow> %large<to>
            %y = <narrow> %around<to>
            %q = <operation> <type> %x, %y
            %r = <widen>
            ret i64 %r
          })",
                   {{"scale", scale},
                    {"narrow", is_wide ? "add i64 0," : "trunc i64"},
                    {"to", is_wide ? "" : std::string(" to ") + type},
                    {"operation", operation},
                    {"type", type},
                    {"widen", is_wide ? "add i64 0, %q" : std::string("zext ") + type + " %q to i64"}}));
        if (testing::Test::HasFailure()) return;
      }
    }
  }
}

TEST(Vectorize, TrapsLeaveEarly) {
  expect_same(R"(
    define {i32, i32} @body(i64 %i, ptr %a, ptr %b, ptr %c, i64 %n) {
      %pb = getelementptr i32, ptr %b, i64 %i
      %x = load i32, ptr %pb
      %bad = icmp ugt i32 %x, 90
      br i1 %bad, label %trap, label %go
    trap:
      ret {i32, i32} {i32 7, i32 0}
    go:
      %zero = icmp eq i32 %x, 0
      br i1 %zero, label %trap2, label %divide
    trap2:
      ret {i32, i32} {i32 9, i32 1}
    divide:
      %q = sdiv i32 1000, %x
      %pa = getelementptr i32, ptr %a, i64 %i
      store i32 %q, ptr %pa
      %r = insertvalue {i32, i32} {i32 0, i32 poison}, i32 %q, 1
      ret {i32, i32} %r
    })");
}

// A body with `count` checked accesses, each at its own index under its own condition.
std::string checked_body(unsigned count) {
  std::string text = R"(
    declare void @note(ptr, i64, i32) "once-for-first-lane" cold nounwind willreturn memory(argmem: readwrite)
    define void @body(i64 %i, ptr %a, ptr %b, ptr %c, i64 %n) {
      %pb = getelementptr i64, ptr %b, i64 %i
      %x = load i64, ptr %pb
      br label %next0
)";
  for (unsigned at = 0; at < count; ++at) {
    text += filled(R"(
    next<n>:
      %want<n> = icmp sgt i64 %x, <n>
      br i1 %want<n>, label %check<n>, label %next<m>.in<n>
    check<n>:
      %p<n> = add i64 %x, <n>
      %inside<n> = icmp ult i64 %p<n>, %n
      br i1 %inside<n>, label %load<n>, label %trap<n>
    trap<n>:
      call void @note(ptr %c, i64 %i, i32 <n>)
      ret void
    load<n>:
      %q<n> = getelementptr i64, ptr %a, i64 %p<n>
      %v<n> = load i64, ptr %q<n>
      %t<n> = add i64 <value>, %v<n>
      br label %next<m>.in<n>
    next<m>.in<n>:
      %s<n> = phi i64 [<value>, %next<n>], [%t<n>, %load<n>]
      br label %next<m>
)",
                   {{"n", std::to_string(at)},
                    {"m", std::to_string(at + 1)},
                    {"value", at == 0 ? "%x" : "%s" + std::to_string(at - 1)}});
  }
  text += filled(R"(
    next<count>:
      store i64 %s<last>, ptr %pb
      ret void
    })",
                 {{"count", std::to_string(count)}, {"last", std::to_string(count - 1)}});
  return text;
}

// The size of the vector form of that body: instructions, and the maximal number of vectors live between blocks, for
// each check.
struct Size {
  std::size_t instructions = 0;
  std::size_t crossing = 0;
};

Size size_of_vector_form(unsigned checks) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic problem;
  const auto module =
      llvm::parseAssembly(llvm::MemoryBufferRef(checked_body(checks), "body"), problem, context);
  Size size;
  if (module == nullptr) {
    ADD_FAILURE() << problem.getMessage().str();
    return size;
  }
  llvm::Function& body = *module->getFunction("body");
  SpmdOptions options;
  options.args = {ArgShape::kLaneIndex, ArgShape::kUniform, ArgShape::kUniform, ArgShape::kUniform,
                  ArgShape::kUniform};
  EXPECT_TRUE(prepare(body, options.args).ok());
  const auto made = vectorize(body, options);
  if (!made.ok()) {
    ADD_FAILURE() << made.error().to_string();
    return size;
  }
  for (llvm::BasicBlock& block : **made) {
    size.instructions += block.size();
    for (llvm::PHINode& phi : block.phis()) size.crossing += phi.getType()->getScalarType()->isIntegerTy(64);
  }
  return size;
}

TEST(Vectorize, GrowsByTheSameForEachCheck) {
  const Size few = size_of_vector_form(10);
  const Size more = size_of_vector_form(20);
  const Size many = size_of_vector_form(160);
  const std::size_t step = more.instructions - few.instructions;
  EXPECT_EQ(many.instructions - few.instructions, 15 * step);
  // The sum, and nothing for traps, which would have to stay live until the return.
  EXPECT_EQ(many.crossing - few.crossing, 150U);
}

// Traps are recorded in lane order, only the first of those at one site.
TEST(Vectorize, OnceForTheFirstLane) {
  expect_same(R"(
    define void @note(ptr %c, i64 %i) "once-for-first-lane" cold noinline nounwind {
      %p = getelementptr i8, ptr %c, i64 128
      %first = load i64, ptr %p
      %lower = icmp slt i64 %i, %first
      br i1 %lower, label %store, label %done
    store:
      store i64 %i, ptr %p
      br label %done
    done:
      ret void
    }
    define void @body(i64 %i, ptr %a, ptr %b, ptr %c, i64 %n) {
      %pb = getelementptr i32, ptr %b, i64 %i
      %x = load i32, ptr %pb
      %bad = icmp ugt i32 %x, 60
      br i1 %bad, label %trap, label %go
    trap:
      call void @note(ptr %c, i64 %i)
      ret void
    go:
      %odd = trunc i32 %x to i1
      br i1 %odd, label %trap2, label %fine
    trap2:
      call void @note(ptr %c, i64 %i)
      ret void
    fine:
      %pa = getelementptr i32, ptr %a, i64 %i
      store i32 %x, ptr %pa
      ret void
    })");
}

TEST(Vectorize, UniformControlFlowInsideDivergent) {
  expect_same(R"(
    define i32 @body(i64 %i, ptr %a, ptr %b, ptr %c, i64 %n) {
    entry:
      %pb = getelementptr i32, ptr %b, i64 %i
      %x = load i32, ptr %pb
      %big = icmp sgt i32 %x, 50
      br i1 %big, label %then, label %join
    then:
      %first = load i32, ptr %c
      %rich = icmp sgt i32 %first, 30
      br i1 %rich, label %sum, label %flat
    sum:
      %k = phi i64 [ 0, %then ], [ %k1, %sum ]
      %s = phi i32 [ %x, %then ], [ %s1, %sum ]
      %pc = getelementptr i32, ptr %c, i64 %k
      %v = load i32, ptr %pc
      %s1 = add i32 %s, %v
      %k1 = add i64 %k, 1
      %more = icmp slt i64 %k1, %n
      br i1 %more, label %sum, label %join.sum
    join.sum:
      br label %after
    flat:
      %f = mul i32 %x, 3
      br label %after
    after:
      %g = phi i32 [ %s1, %join.sum ], [ %f, %flat ]
      %pa = getelementptr i32, ptr %a, i64 %i
      store i32 %g, ptr %pa
      br label %join
    join:
      %r = phi i32 [ %g, %after ], [ %x, %entry ]
      ret i32 %r
    })");
}

TEST(Vectorize, VaryingArgumentsAndSelect) {
  expect_same(R"(
    define {float, i1} @body(i64 %i, ptr %a, ptr %b, ptr %c, i64 %n, float %u, i32 %v) {
      %c1 = icmp sgt i32 %v, 40
      %x = sitofp i32 %v to float
      %y = select i1 %c1, float %x, float %u
      %p = icmp slt i64 %n, 10
      %z = select i1 %p, float %u, float %y
      %r0 = insertvalue {float, i1} poison, float %z, 0
      %r1 = insertvalue {float, i1} %r0, i1 %c1, 1
      ret {float, i1} %r1
    })");
}

TEST(Vectorize, LocalArrays) {
  expect_same(R"(
    declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
    define i32 @body(i64 %i, ptr %a, ptr %b, ptr %c, i64 %n) {
    entry:
      %t = alloca [32 x i32], align 4
      call void @llvm.memset.p0.i64(ptr align 4 %t, i8 0, i64 128, i1 false)
      br label %loop
    loop:
      %k = phi i64 [ 0, %entry ], [ %k1, %loop ]
      %at = add i64 %i, %k
      %pb = getelementptr i32, ptr %b, i64 %at
      %x = load i32, ptr %pb
      %bin = and i32 %x, 31
      %bin64 = zext i32 %bin to i64
      %pt = getelementptr [32 x i32], ptr %t, i64 0, i64 %bin64
      %old = load i32, ptr %pt
      %new = add i32 %old, %x
      store i32 %new, ptr %pt
      %k1 = add i64 %k, 1
      %more = icmp slt i64 %k1, %n
      br i1 %more, label %loop, label %sum
    sum:
      %j = phi i64 [ 0, %loop ], [ %j1, %sum ]
      %s = phi i32 [ 0, %loop ], [ %s2, %sum ]
      %pj = getelementptr i32, ptr %t, i64 %j
      %y = load i32, ptr %pj
      %s1 = mul i32 %s, 3
      %s2 = add i32 %s1, %y
      %j1 = add i64 %j, 1
      %more2 = icmp slt i64 %j1, 32
      br i1 %more2, label %sum, label %done
    done:
      ret i32 %s2
    })");
}

TEST(Vectorize, AtomicsRunInTheOrderOfTheLanes) {
  expect_same(R"(
    define i32 @body(i64 %i, ptr %a, ptr %b, ptr %c, i64 %n) {
    entry:
      %pb = getelementptr i32, ptr %b, i64 %i
      %x = load i32, ptr %pb
      %odd = trunc i32 %x to i1
      br i1 %odd, label %then, label %done
    then:
      %old = atomicrmw add ptr %a, i32 %x seq_cst
      %pair = cmpxchg ptr %c, i32 0, i32 %x seq_cst seq_cst
      %seen = extractvalue { i32, i1 } %pair, 0
      %sum = add i32 %old, %seen
      br label %done
    done:
      %r = phi i32 [ %sum, %then ], [ -1, %entry ]
      ret i32 %r
    })");
}

TEST(Vectorize, StoresToOnePlaceKeepTheLastLane) {
  expect_same(R"(
    define void @body(i64 %i, ptr %a, ptr %b, ptr %c, i64 %n) {
    entry:
      store i64 %i, ptr %a
      %pb = getelementptr i32, ptr %b, i64 %i
      %x = load i32, ptr %pb
      %odd = trunc i32 %x to i1
      br i1 %odd, label %then, label %done
    then:
      %p = getelementptr i8, ptr %a, i64 8
      store i32 %x, ptr %p
      %stop = load atomic i32, ptr %c monotonic, align 4
      %q = getelementptr i8, ptr %a, i64 16
      store i32 %stop, ptr %q
      br label %done
    done:
      ret void
    })");
}

TEST(Vectorize, Switch) {
  expect_same(R"(
    define i32 @body(i64 %i, ptr %a, ptr %b, ptr %c, i64 %n) {
    entry:
      %pb = getelementptr i32, ptr %b, i64 %i
      %x = load i32, ptr %pb
      %pa = getelementptr i32, ptr %a, i64 %i
      switch i32 %x, label %other [ i32 0, label %zero
                                    i32 3, label %three
                                    i32 4, label %three
                                    i32 5, label %five ]
    zero:
      store i32 100, ptr %pa
      br label %done
    three:
      %y = load i32, ptr %pa
      br label %done
    five:
      br label %done
    other:
      %m = mul i32 %x, %x
      br label %done
    done:
      %r = phi i32 [ 1, %zero ], [ %y, %three ], [ 5, %five ], [ %m, %other ]
      ret i32 %r
    })",
              {Fill::kIntegers, 8});
}

TEST(Vectorize, Intrinsics) {
  expect_same(R"(
    declare {i32, i1} @llvm.umul.with.overflow.i32(i32, i32)
    declare i32 @llvm.ctpop.i32(i32)
    declare i32 @llvm.ctlz.i32(i32, i1)
    declare i32 @llvm.smin.i32(i32, i32)
    declare i32 @llvm.fptosi.sat.i32.f32(float)
    declare float @llvm.sqrt.f32(float)
    declare float @llvm.fma.f32(float, float, float)
    declare float @llvm.round.f32(float)
    declare float @llvm.copysign.f32(float, float)
    define {i32, i1, float, i32, i32} @body(i64 %i, ptr %a, ptr %b, ptr %c, i64 %n) {
      %pb = getelementptr i32, ptr %b, i64 %i
      %x = load i32, ptr %pb
      %big = mul i32 %x, 1000000
      %o = call {i32, i1} @llvm.umul.with.overflow.i32(i32 %big, i32 50)
      %o0 = extractvalue {i32, i1} %o, 0
      %o1 = extractvalue {i32, i1} %o, 1
      %pc = call i32 @llvm.ctpop.i32(i32 %big)
      %lz = call i32 @llvm.ctlz.i32(i32 %x, i1 false)
      %mn = call i32 @llvm.smin.i32(i32 %pc, i32 %lz)
      %f = sitofp i32 %x to float
      %g = call float @llvm.sqrt.f32(float %f)
      %h = call float @llvm.fma.f32(float %g, float %f, float -0.5)
      %r = call float @llvm.round.f32(float %h)
      %q = fmul float %r, 1.0e8
      %s = call i32 @llvm.fptosi.sat.i32.f32(float %q)
      %cs = call float @llvm.copysign.f32(float %h, float %g)
      %r0 = insertvalue {i32, i1, float, i32, i32} poison, i32 %o0, 0
      %r1 = insertvalue {i32, i1, float, i32, i32} %r0, i1 %o1, 1
      %r2 = insertvalue {i32, i1, float, i32, i32} %r1, float %cs, 2
      %r3 = insertvalue {i32, i1, float, i32, i32} %r2, i32 %s, 3
      %r4 = insertvalue {i32, i1, float, i32, i32} %r3, i32 %mn, 4
      ret {i32, i1, float, i32, i32} %r4
    })");
}

TEST(Vectorize, FunctionsWithoutVectorFormRunLaneByLane) {
  expect_same(R"(
    declare double @fmod(double, double)
    define double @body(i64 %i, ptr %a, ptr %b, ptr %c, i64 %n) {
      %pb = getelementptr double, ptr %b, i64 %i
      %x = load double, ptr %pb
      %small = fcmp olt double %x, 2.0
      br i1 %small, label %then, label %done
    then:
      %y = call double @fmod(double %x, double 0.7)
      br label %done
    done:
      %r = phi double [ %y, %then ], [ %x, %0 ]
      ret double %r
    })",
              {Fill::kDoubles});
}

// The vector library is accurate to 4 units in the last place; libm to less than one.
TEST(Vectorize, MathematicalFunctions) {
  for (const char* name : {"sin", "cos", "exp", "log", "tanh", "cbrt", "erf", "atan", "log1p"}) {
    for (const bool is_float : {false, true}) {
      const std::string type = is_float ? "float" : "double";
      const std::string text = fmt::format(R"(declare {0} @{1}({0})
define {0} @body(i64 %i, ptr %a, ptr %b, ptr %c, i64 %n) {{
  %p = getelementptr {0}, ptr %b, i64 %i
  %x = load {0}, ptr %p
  %y = call {0} @{1}({0} %x)
  ret {0} %y
}})",
                                           type, std::string(name) + (is_float ? "f" : ""));
      // Pieces of each width that the library has, and one that is only half filled.
      for (const auto& [width, vector_bits] :
           {std::pair(4U, 128U), std::pair(2U, 512U), std::pair(16U, 256U), std::pair(32U, 512U)}) {
        auto kernel = TestKernel::create(text, width, vector_bits);
        ASSERT_TRUE(kernel.ok()) << kernel.error().to_string();
        TestData expected = new_data(is_float ? Fill::kFloats : Fill::kDoubles, 1);
        TestData full = expected;
        TestData tail = expected;
        kernel->run_scalar(expected, 0, 0, width);
        kernel->run_full(full, 0, 0);
        kernel->run_tail(tail, 0, 0, width - 1);
        for (unsigned lane = 0; lane < width; ++lane) {
          const auto distance = static_cast<std::int64_t>(expected.results[lane]) -
                                static_cast<std::int64_t>(full.results[lane]);
          EXPECT_LE(std::abs(distance), 4) << name << ", lane " << lane << " of " << width;
          if (lane < width - 1) {
            EXPECT_EQ(full.results[lane], tail.results[lane]);
          }
        }
      }
    }
  }
}

void expect_refused(const std::string& text, const char* reason) {
  auto kernel = TestKernel::create(text, 8);
  ASSERT_FALSE(kernel.ok());
  EXPECT_EQ(kernel.error().code(), ErrorCode::kUnsupported);
  EXPECT_NE(kernel.error().message().find(reason), std::string::npos) << kernel.error().message();
}

TEST(Vectorize, RefusesUnknownCalls) {
  expect_refused(R"(
    declare i32 @puts(ptr)
    define i32 @body(i64 %i, ptr %a, ptr %b, ptr %c, i64 %n) {
      %r = call i32 @puts(ptr %a)
      ret i32 %r
    })",
                 "puts");
}

TEST(Vectorize, RefusesIrreducibleControlFlow) {
  expect_refused(R"(
    define i32 @body(i64 %i, ptr %a, ptr %b, ptr %c, i64 %n) {
      %x = load i32, ptr %b
      %p = trunc i32 %x to i1
      br i1 %p, label %l, label %r
    l:
      %s = phi i32 [ 0, %0 ], [ %u, %r ]
      %t = add i32 %s, 3
      store volatile i32 %t, ptr %a
      br label %r
    r:
      %v = phi i32 [ 1, %0 ], [ %t, %l ]
      %u = mul i32 %v, 5
      store volatile i32 %u, ptr %a
      %c1 = icmp slt i32 %u, 1000
      br i1 %c1, label %l, label %out
    out:
      ret i32 %u
    })",
                 "entered in several places");
}

TEST(Vectorize, RefusesEscapingLocals) {
  expect_refused(R"(
    define void @body(i64 %i, ptr %a, ptr %b, ptr %c, i64 %n) {
      %t = alloca [4 x i32]
      %q = getelementptr i32, ptr %t, i64 %n
      store i32 1, ptr %q
      store ptr %q, ptr %a
      ret void
    })",
                 "address of a local array");
}

// Cases with a common target are one condition, where lanes diverge once.
TEST(Vectorize, CasesOfOnePlaceAreOneCondition) {
  const std::string text = R"(
    define i32 @body(i64 %i, ptr %a, ptr %b, ptr %c, i64 %n) {
      %at = getelementptr i32, ptr %b, i64 %i
      %x = load i32, ptr %at
      %low = and i32 %x, 15
      switch i32 %low, label %other [ i32 3, label %one
                                      i32 7, label %one
                                      i32 12, label %one ]
    one:
      %p = phi i32 [ 1, %0 ], [ 1, %0 ], [ 1, %0 ]
      %place = getelementptr i32, ptr %a, i64 %i
      store i32 %p, ptr %place
      br label %done
    other:
      br label %done
    done:
      %result = phi i32 [ %p, %one ], [ %x, %other ]
      ret i32 %result
    })";
  expect_same(text);
  auto kernel = TestKernel::create(text, 8);
  ASSERT_TRUE(kernel.ok());
  // A search tree would compare with 7.
  EXPECT_EQ(kernel->vector_text().find("icmp slt"), std::string::npos) << kernel->vector_text();
}

}  // namespace
}  // namespace dhpvm::codegen::spmd
