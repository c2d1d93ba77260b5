// SPDX-License-Identifier: Apache-2.0
// Footprints of loops in the language: which accesses of ordinary kernels are proven to be in bounds, what
// chunks of them need, and what is said about those where it is not known.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "bytecode/disassembler.h"
#include "bytecode/verifier.h"
#include "compiler/compiler.h"
#include "offload/loops/footprint.h"
#include "offload/loops/range.h"
#include "stdlib/modules.h"

namespace dhpvm::offload {
namespace {

codegen::KernelArray array_of(std::vector<std::int64_t> dims) {
  static std::byte somewhere;
  codegen::KernelArray array;
  array.data = &somewhere;
  array.shape.length = 1;
  for (std::size_t d = 0; d < dims.size(); ++d) array.shape.length *= array.shape.dims[d] = dims[d];
  array.shape.readable = array.shape.writable = array.shape.length;
  return array;
}

// The first loop of a program, and numbers to put in.
struct LoopUnderTest {
  explicit LoopUnderTest(const std::string& source) {
    compiler::CompileOptions options;
    options.builtin_modules = stdlib::modules();
    Result<bytecode::Module> compiled = compiler::compile(source + "\nfn main() {}\n", options);
    if (!compiled.ok()) {
      ADD_FAILURE() << compiled.error().to_string();
      return;
    }
    module = std::move(compiled).value();
    EXPECT_TRUE(bytecode::verify(module).ok());
    footprint = analyse(module, module.kernels.at(0));
    EXPECT_TRUE(footprint.complete) << footprint.incomplete_reason;
  }

  // Numbers of captures follow their first use in the body.
  LoopChunk chunk(std::vector<std::array<std::int64_t, 2>> bounds) const {
    LoopChunk result{{static_cast<unsigned>(bounds.size())}, scalars, arrays};
    for (std::size_t d = 0; d < bounds.size(); ++d) {
      result.space.low[d] = bounds[d][0];
      result.space.high[d] = bounds[d][1];
    }
    return result;
  }
  // Accesses that may fail, of those that could be proven not to, and of the others.
  int unproven(const LoopChunk& numbers, bool provable = true) const {
    Ranges ranges(footprint, numbers);
    int count = 0;
    for (const Access& access : footprint.accesses)
      count += access.provable == provable && !ranges.cannot_fail(access) ? 1 : 0;
    return count;
  }
  int unprovable() const {
    return static_cast<int>(std::ranges::count(footprint.accesses, false, &Access::provable));
  }
  std::string text() const {
    std::string all = bytecode::disassemble_function(module, module.kernels[0].function);
    for (const Access& access : footprint.accesses)
      all += fmt::format("chain {} word {}: {}\n", access.chain,
                         access.pc - module.functions[access.function].code_offset,
                         access.provable ? "provable" : "not provable");
    return all;
  }

  bytecode::Module module;
  Footprint footprint;
  std::vector<std::uint64_t> scalars;
  std::vector<codegen::KernelArray> arrays;
};

TEST(Footprints, MatrixMultiplication) {
  LoopUnderTest loop(R"(fn f(a: [f32, 2], b: [f32, 2], c: [f32, 2]) {
    parallel for i in 0..a.rows, j in 0..b.cols {
        var sum: f32 = 0.0;
        for k in 0..a.cols { sum += a[i, k] * b[k, j]; }
        c[i, j] = sum;
    }
  })");
  EXPECT_EQ(loop.unprovable(), 0);
  loop.arrays = {array_of({100, 50}), array_of({50, 70}), array_of({100, 70})};
  EXPECT_EQ(loop.unproven(loop.chunk({{0, 100}, {0, 70}})), 0) << loop.text();
  EXPECT_TRUE(holds(loop.footprint, loop.chunk({{0, 100}, {0, 70}})));
  EXPECT_GT(loop.unproven(loop.chunk({{0, 101}, {0, 70}})), 0);
  const std::uint32_t failing = first_unproven(loop.footprint, loop.chunk({{0, 101}, {0, 70}}));
  ASSERT_NE(failing, kNothing);
  EXPECT_EQ(place(loop.module, loop.footprint.accesses[failing]), "line 4");
  loop.arrays[1] = array_of({49, 70});
  EXPECT_GT(loop.unproven(loop.chunk({{0, 100}, {0, 70}})), 0);
  loop.arrays[1] = array_of({50, 70});
  // Row blocks: rows of a and c, all of b.
  Ranges ranges(loop.footprint, loop.chunk({{10, 20}, {0, 70}}));
  EXPECT_EQ(loop.footprint.arrays[0].kind, ArrayClass::kSliced);
  EXPECT_EQ(ranges.reads(0), (Elements{true, 500, 1000}));
  EXPECT_EQ(loop.footprint.arrays[1].kind, ArrayClass::kBroadcast);
  EXPECT_EQ(ranges.reads(1), (Elements{true, 0, 3500}));
  EXPECT_EQ(loop.footprint.arrays[2].kind, ArrayClass::kSliced);
  EXPECT_EQ(ranges.writes(2), (Elements{true, 700, 1400}));
  EXPECT_TRUE(ranges.reads(2).empty());
  Ranges whole(loop.footprint, loop.chunk({{0, 100}, {0, 70}}));
  EXPECT_TRUE(whole.writes_are_disjoint(2));
}

TEST(Footprints, AGuardedStencilIsProvenAndHasAHalo) {
  LoopUnderTest loop(R"(fn f(a: [f32], b: [f32], n: i64) {
    parallel for i in 0..n {
        if i > 0 && i < n - 1 { b[i] = a[i-1] + a[i] + a[i+1]; } else { b[i] = a[i]; }
    }
  })");
  EXPECT_EQ(loop.unprovable(), 0);
  loop.scalars = {1000};
  loop.arrays = {array_of({1000}), array_of({1000})};
  EXPECT_EQ(loop.unproven(loop.chunk({{0, 1000}})), 0) << loop.text();
  EXPECT_GT(loop.unproven(loop.chunk({{-1, 1000}})), 0);
  loop.scalars = {1001};
  EXPECT_GT(loop.unproven(loop.chunk({{0, 1001}})), 0);
  loop.scalars = {1000};
  Ranges middle(loop.footprint, loop.chunk({{100, 200}}));
  EXPECT_EQ(middle.reads(1), (Elements{true, 99, 201}));
  EXPECT_EQ(middle.writes(0), (Elements{true, 100, 200}));
  Ranges first(loop.footprint, loop.chunk({{0, 100}}));
  EXPECT_EQ(first.reads(1), (Elements{true, 0, 101}));
  EXPECT_TRUE(first.writes_are_disjoint(0));
}

TEST(Footprints, AFlattenedStencil) {
  LoopUnderTest loop(R"(fn f(a: [f32], b: [f32], rows: i64, cols: i64) {
    parallel for p in 0..rows * cols {
        let r = p / cols;
        let c = p % cols;
        if r > 0 && r + 1 < rows && c > 0 && c + 1 < cols { b[p] = a[p - cols] + a[p + cols] + a[p - 1] + a[p + 1]; }
    }
  })");
  EXPECT_EQ(loop.unprovable(), 0);
  loop.scalars = {70, 100};  // columns first
  loop.arrays = {array_of({7000}), array_of({7000})};
  EXPECT_EQ(loop.unproven(loop.chunk({{0, 7000}})), 0) << loop.text();
  Ranges ranges(loop.footprint, loop.chunk({{1400, 2100}}));
  EXPECT_EQ(ranges.reads(1), (Elements{true, 1330, 2170}));
}

TEST(Footprints, AConvolutionThatClampsItsIndices) {
  for (const char* clamp :
       {"clampi(y + dy - 1, 0, src.rows - 1)", "math.max(0, math.min(y + dy - 1, src.rows - 1))"}) {
    LoopUnderTest loop(std::string(R"(import math;
    fn clampi(v: i64, lo: i64, hi: i64) -> i64 { if v < lo { return lo; } if v > hi { return hi; } return v; }
    fn f(src: [f32, 2], dst: [f32, 2], k: [f32, 2]) {
      parallel for y in 0..dst.rows, x in 0..dst.cols {
        var s: f32 = 0.0;
        for dy in 0..3 { for dx in 0..3 {
            let yy = )") +
                       clamp + R"(;
            let xx = clampi(x + dx - 1, 0, src.cols - 1);
            s += src[yy, xx] * k[dy, dx];
        } }
        dst[y, x] = s;
      }
    })");
    EXPECT_EQ(loop.unprovable(), 0) << loop.text();
    loop.arrays = {array_of({60, 80}), array_of({3, 3}), array_of({60, 80})};
    EXPECT_EQ(loop.unproven(loop.chunk({{0, 60}, {0, 80}})), 0) << loop.text();
    Ranges ranges(loop.footprint, loop.chunk({{10, 20}, {0, 80}}));
    EXPECT_EQ(ranges.reads(0), (Elements{true, 9 * 80, 21 * 80})) << clamp;
    EXPECT_EQ(loop.footprint.arrays[1].kind, ArrayClass::kBroadcast);
    loop.arrays[1] = array_of({3, 2});
    EXPECT_GT(loop.unproven(loop.chunk({{0, 60}, {0, 80}})), 0);
  }
}

TEST(Footprints, StructArraysAndInnerLoopsWithHoles) {
  LoopUnderTest loop(R"(struct Body { x: f32; y: f32; z: f32; mass: f32; }
  fn f(b: [Body], out: [f32], n: i64) {
    parallel for i in 0..n {
        var s: f32 = 0.0;
        for j in 0..n { if j != i { s += b[j].mass * (b[i].x - b[j].x); } }
        out[i] = s;
    }
  })");
  EXPECT_EQ(loop.unprovable(), 0);
  loop.scalars = {500};
  loop.arrays = {array_of({500}), array_of({500})};
  EXPECT_EQ(loop.unproven(loop.chunk({{0, 500}})), 0) << loop.text();
  EXPECT_EQ(loop.footprint.arrays[0].kind, ArrayClass::kBroadcast);
  EXPECT_EQ(loop.footprint.arrays[1].kind, ArrayClass::kSliced);
}

TEST(Footprints, ARowIsReadAndAnElementOfItsNumberWritten) {
  const LoopUnderTest loop(R"(fn least(points: [f32, 2], out: [f32]) {
    parallel for i in 0..points.rows {
      var best = f32.max;
      for d in 0..points.cols { if points[i, d] < best { best = points[i, d]; } }
      out[i] = best;
    }
  })");
  EXPECT_EQ(loop.footprint.arrays[0].kind, ArrayClass::kSliced) << loop.footprint.arrays[0].reason;
  EXPECT_EQ(loop.footprint.arrays[1].kind, ArrayClass::kSliced) << loop.footprint.arrays[1].reason;
}

TEST(Footprints, WhileLoopsAndProducts) {
  LoopUnderTest loop(R"(fn f(a: [f32], w: i64, h: i64, o: [f32]) {
    parallel for y in 0..h {
        var s: f32 = 0.0;
        var x: i64 = 0;
        while x < w { s += a[y * w + x]; x += 2; }
        o[y] = s;
    }
  })");
  EXPECT_EQ(loop.unprovable(), 0);
  loop.scalars = {33};
  loop.arrays = {array_of({330}), array_of({10})};
  EXPECT_EQ(loop.unproven(loop.chunk({{0, 10}})), 0) << loop.text();
  Ranges ranges(loop.footprint, loop.chunk({{2, 4}}));
  EXPECT_EQ(ranges.reads(0), (Elements{true, 66, 132}));
  // Products of large numbers wrap: nothing may be concluded.
  loop.scalars = {std::uint64_t{1} << 62};
  EXPECT_GT(loop.unproven(loop.chunk({{0, 10}})), 0);
}

TEST(Footprints, TriangularLoops) {
  LoopUnderTest loop(R"(fn f(a: [f32], b: [f32], n: i64) {
    parallel for i in 0..n {
        var s: f32 = 0.0;
        for j in i + 1..n { s += a[j - i - 1] + a[j]; }
        for j in 0..i { s += a[i - 1 - j]; }
        b[i] = s;
    }
  })");
  EXPECT_EQ(loop.unprovable(), 0);
  loop.scalars = {400};
  loop.arrays = {array_of({400}), array_of({400})};
  EXPECT_EQ(loop.unproven(loop.chunk({{0, 400}})), 0) << loop.text();
}

TEST(Footprints, StepsThatGoDown) {
  LoopUnderTest loop(R"(fn f(a: [f32], b: [f32], n: i64) {
    parallel for i in 0..n {
        var s: f32 = 0.0;
        var j = n - 1;
        while j >= 0 { s += a[j]; j -= 1; }
        for k in 0..16 step 4 { s += a[k + 3]; }
        for k in i + 1..n step 3 { s += a[k - i - 1]; }
        b[n - 1 - i] = s;
    }
  })");
  EXPECT_EQ(loop.unprovable(), 0);
  loop.scalars = {400};
  loop.arrays = {array_of({400}), array_of({400})};
  EXPECT_EQ(loop.unproven(loop.chunk({{0, 400}})), 0) << loop.text();
  Ranges ranges(loop.footprint, loop.chunk({{0, 400}}));
  EXPECT_TRUE(ranges.writes_are_disjoint(1));
}

TEST(Footprints, InclusiveRangesAndSteps) {
  LoopUnderTest loop(R"(import math; fn f(source: [f32, 2], weights: [f32], out: [f32, 2], radius: i64) {
    parallel for y in 0..source.rows, x in 0..source.cols {
        var sum = weights[0] * source[y, x];
        for i in 1..=radius {
            sum += weights[i] * (source[math.max(y - i, 0), x] + source[math.min(y + i, source.rows - 1), x]);
        }
        for i in 1..radius step 2 { sum += weights[i]; }
        out[y, x] = sum;
    }
  })");
  EXPECT_EQ(loop.unprovable(), 0) << loop.text();
  loop.scalars = {4};
  loop.arrays = {array_of({5}), array_of({100, 70}), array_of({100, 70})};
  EXPECT_EQ(loop.unproven(loop.chunk({{0, 100}, {0, 70}})), 0) << loop.text();
  Ranges ranges(loop.footprint, loop.chunk({{20, 30}, {0, 70}}));
  EXPECT_EQ(ranges.reads(1), (Elements{true, 16 * 70, 34 * 70}));
  EXPECT_EQ(ranges.writes(2), (Elements{true, 20 * 70, 30 * 70}));
  loop.scalars = {5};
  EXPECT_GT(loop.unproven(loop.chunk({{0, 100}, {0, 70}})), 0);
}

TEST(Footprints, NarrowIntegers) {
  LoopUnderTest loop(R"(fn f(a: [f32], n: i32) {
    parallel for i in 0..(n as i64) {
        let k = i as i32;
        a[(k * 2 + 1) as i64] = 1.0;
        var m: i32 = 0;
        while m < n { a[(m * 2) as i64] += 1.0; m += 1; }
    }
  })");
  EXPECT_EQ(loop.unprovable(), 0);
  loop.scalars = {300};
  loop.arrays = {array_of({600})};
  EXPECT_EQ(loop.unproven(loop.chunk({{0, 300}})), 0) << loop.text();
  // k * 2 wraps within 32 bits.
  loop.arrays = {array_of({std::int64_t{1} << 40})};
  EXPECT_GT(loop.unproven(loop.chunk({{0, std::int64_t{1} << 31}})), 0);
}

TEST(Footprints, ConditionsInVariablesAndJumps) {
  LoopUnderTest loop(R"(import math;
  fn f(a: [f32], b: [f32], n: i64) {
    parallel for i in 0..n {
      let l = math.max(i - 1, 0);
      let r = math.min(i + 1, n - 1);
      let inside = i > 2 && i < n - 2;
      if inside { b[i] = a[l] + a[r] + a[i - 3] + a[i + 2]; }
      if i == 0 || i == n - 1 { b[i] = 0.0; } else { b[i] = a[i - 1] + a[i + 1]; }
      if i < 3 { continue; }
      b[i] = a[i - 3];
    }
  })");
  EXPECT_EQ(loop.unprovable(), 0);
  loop.scalars = {100};
  loop.arrays = {array_of({100}), array_of({100})};
  EXPECT_EQ(loop.unproven(loop.chunk({{0, 100}})), 0) << loop.text();
  Ranges ranges(loop.footprint, loop.chunk({{50, 60}}));
  EXPECT_EQ(ranges.reads(1), (Elements{true, 47, 62}));
}

TEST(Footprints, WhatDependsOnDataIsScatteredAndSaysWhere) {
  LoopUnderTest loop(R"(fn f(ptr: [i32], col: [i32], val: [f32], x: [f32], y: [f32]) {
    parallel for r in 0..y.len {
        var s: f32 = 0.0;
        for k in (ptr[r] as i64)..(ptr[r + 1] as i64) {
            s += val[k] * x[col[k] as i64];
        }
        y[r] = s;
    }
  })");
  EXPECT_EQ(loop.unprovable(), 3) << loop.text();  // val, col, x
  loop.arrays = {array_of({101}), array_of({900}), array_of({100}), array_of({900}), array_of({100})};
  EXPECT_EQ(loop.unproven(loop.chunk({{0, 100}})), 0);
  EXPECT_EQ(loop.footprint.arrays[2].kind, ArrayClass::kScattered);
  EXPECT_NE(loop.footprint.arrays[2].reason.find("depend on data"), std::string::npos);
  EXPECT_NE(loop.footprint.arrays[2].reason.find("line 5"), std::string::npos)
      << loop.footprint.arrays[2].reason;
  Ranges ranges(loop.footprint, loop.chunk({{10, 20}}));
  EXPECT_EQ(ranges.reads(0), (Elements{true, 10, 21}));
  EXPECT_EQ(ranges.writes(4), (Elements{true, 10, 20}));
  EXPECT_FALSE(ranges.reads(2).known);
}

TEST(Footprints, AGuardMakesLoadedIndicesSafe) {
  LoopUnderTest loop(R"(fn f(index: [i32], x: [f32], y: [f32]) {
    parallel for i in 0..y.len {
        let k = index[i] as i64;
        if k >= 0 && k < x.len { y[i] = x[k]; }
    }
  })");
  EXPECT_EQ(loop.unprovable(), 0) << loop.text();
  loop.arrays = {array_of({50}), array_of({20}), array_of({50})};
  EXPECT_EQ(loop.unproven(loop.chunk({{0, 50}})), 0);
}

TEST(Footprints, AHistogramIsReduced) {
  LoopUnderTest loop(R"(import atomic;
  fn f(a: [u8], h: [i32]) { parallel for i in 0..a.len { if a[i] > 3 { atomic.add(h[a[i] as i64], 1); } } })");
  EXPECT_EQ(loop.footprint.arrays[1].kind, ArrayClass::kReduced) << loop.text();
  EXPECT_EQ(loop.unprovable(), 0);
  loop.arrays = {array_of({1000}), array_of({256})};
  EXPECT_EQ(loop.unproven(loop.chunk({{0, 1000}})), 0);
  loop.arrays[1] = array_of({255});
  EXPECT_EQ(loop.unproven(loop.chunk({{0, 1000}})), 1);
}

TEST(Footprints, AnUpdateWhoseOldValueMattersIsNotReduced) {
  LoopUnderTest loop(R"(import atomic;
  fn f(a: [i64], n: [i32]) { parallel for i in 0..a.len { a[i] = atomic.add(n[0], 1) as i64; } })");
  EXPECT_EQ(loop.footprint.arrays[1].kind, ArrayClass::kScattered) << loop.footprint.arrays[1].reason;
}

TEST(Footprints, CalleesAreEntered) {
  LoopUnderTest loop(R"(fn at(a: [f32], i: i64, n: i64) -> f32 {
    var s: f32 = 0.0;
    for k in 0..n { if i + k < a.len { s += a[i + k]; } }
    for k in 0..n { if i - k >= 0 { s += a[i - k]; } }
    return s;
  }
  fn f(a: [f32], b: [f32]) { parallel for i in 0..b.len { b[i] = at(a, i, 3) + at(a, i, 5); } })");
  EXPECT_EQ(loop.unprovable(), 0) << loop.text();
  loop.arrays = {array_of({100}), array_of({100})};
  EXPECT_EQ(loop.unproven(loop.chunk({{0, 100}})), 0);
  std::uint32_t calls = 0;
  for (std::uint32_t i = 1; i < loop.footprint.chains.size(); ++i) {
    const CallChain& chain = loop.footprint.chains[i];
    EXPECT_EQ(loop.footprint.callee(chain.caller, chain.call_pc), i);
    ++calls;
  }
  EXPECT_EQ(calls, 2u) << loop.text();
  Ranges ranges(loop.footprint, loop.chunk({{20, 30}}));
  EXPECT_EQ(ranges.reads(1).known ? ranges.reads(1) : ranges.reads(0), (Elements{true, 16, 34}));
}

TEST(Footprints, InterleavedWritesAreNotDisjoint) {
  LoopUnderTest loop(
      R"(fn f(a: [f32], n: i64) { parallel for i in 0..n { for k in 0..n { a[k * n + i] = 1.0; } } })");
  EXPECT_EQ(loop.unprovable(), 0);
  loop.scalars = {30};
  loop.arrays = {array_of({900})};
  EXPECT_EQ(loop.unproven(loop.chunk({{0, 30}})), 0) << loop.text();
  Ranges ranges(loop.footprint, loop.chunk({{0, 30}}));
  EXPECT_FALSE(ranges.writes_are_disjoint(0));
}

TEST(Footprints, ThreeDimensionsAndLocalArrays) {
  LoopUnderTest loop(R"(fn f(a: [f64, 3], b: [f64, 3]) {
    parallel for i in 1..a.dim(0) - 1, j in 1..a.dim(1) - 1, k in 1..a.dim(2) - 1 {
        var w: [f64; 3];
        for m in 0..3 { w[m] = a[i - 1 + m, j, k] + a[i, j - 1 + m, k] + a[i, j, k - 1 + m]; }
        b[i, j, k] = w[0] + w[1] + w[2];
    }
  })");
  EXPECT_EQ(loop.unprovable(), 0) << loop.text();
  loop.arrays = {array_of({20, 30, 40}), array_of({20, 30, 40})};
  EXPECT_EQ(loop.unproven(loop.chunk({{1, 19}, {1, 29}, {1, 39}})), 0) << loop.text();
  Ranges ranges(loop.footprint, loop.chunk({{5, 7}, {1, 29}, {1, 39}}));
  EXPECT_EQ(ranges.reads(0), (Elements{true, 4 * 1200 + 41, 8 * 1200 - 41}));
}

TEST(Footprints, ClosedAndNullArraysAreNotProven) {
  LoopUnderTest loop(
      "fn f(a: [f32]) { parallel for i in 0..10 { a[i] = 1.0; let n = a.len; a[i] = n as f32; } }");
  loop.arrays = {array_of({10})};
  EXPECT_EQ(loop.unproven(loop.chunk({{0, 10}})), 0);
  loop.arrays[0].shape.writable = 0;
  EXPECT_GT(loop.unproven(loop.chunk({{0, 10}})), 0);
  loop.arrays[0] = {.data = nullptr, .shape = {.length = -1}};
  EXPECT_EQ(loop.unproven(loop.chunk({{0, 10}})), 3);
}

}  // namespace
}  // namespace dhpvm::offload
