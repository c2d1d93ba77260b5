// SPDX-License-Identifier: Apache-2.0
// Lanes that access memory with strides: steps, fields of structs, rows of flat indices.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/SourceMgr.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "codegen/spmd/expect_same.h"

namespace dhpvm::codegen::spmd {
namespace {

TEST(Vectorize, StepsOfSeveralElements) {
  const std::string text = R"(
    define i32 @body(i64 %i, ptr %a, ptr %b, ptr %c, i64 %n) {
      %i2 = shl i64 %i, 1
      %p2 = getelementptr i32, ptr %b, i64 %i2
      %x = load i32, ptr %p2
      %i3 = mul i64 %i, 3
      %i31 = add i64 %i3, 1
      %p3 = getelementptr i32, ptr %b, i64 %i31
      %y = load i32, ptr %p3
      %p4 = getelementptr [4 x i16], ptr %c, i64 %i, i64 2
      %z16 = load i16, ptr %p4
      %z = zext i16 %z16 to i32
      %p8 = getelementptr i8, ptr %c, i64 %i
      %w8 = load i8, ptr %p8
      %w = sext i8 %w8 to i32
      %s1 = add i32 %x, %y
      %s2 = mul i32 %z, 3
      %s3 = add i32 %s1, %s2
      %s = sub i32 %s3, %w
      ret i32 %s
    })";
  expect_same(text);
  auto kernel = TestKernel::create(text, 8);
  ASSERT_TRUE(kernel.ok());
  EXPECT_EQ(kernel->vector_text().find("gather"), std::string::npos) << kernel->vector_text();
}

// `n - i - 1` after LLVM has simplified it.
TEST(Vectorize, IndicesThatCountBackwardsGatherNothing) {
  const std::string text = R"(
    define i32 @body(i64 %i, ptr %a, ptr %b, ptr %c, i64 %n) {
      %inverted = xor i64 %i, -1
      %from_end = add i64 %inverted, 200
      %p = getelementptr i32, ptr %b, i64 %from_end
      %x = load i32, ptr %p
      %q = getelementptr i8, ptr %c, i64 %from_end
      %y8 = load i8, ptr %q
      %y = zext i8 %y8 to i32
      %sum = add i32 %x, %y
      ret i32 %sum
    })";
  expect_same(text);
  auto kernel = TestKernel::create(text, 8);
  ASSERT_TRUE(kernel.ok());
  EXPECT_EQ(kernel->vector_text().find("gather"), std::string::npos) << kernel->vector_text();
}

std::size_t occurrences(const std::string& text, std::string_view what) {
  std::size_t count = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
  return count;
}

// An index decomposed by the length of a row, as the language lowers it: with cases for 0 and -1.
std::string flat_index(const char* length) {
  return fmt::format(R"(
    define i32 @body(i64 %i, ptr %a, ptr %b, ptr %c, i64 %n) {{
    entry:
      %length = {}
      %zero = icmp eq i64 %length, 0
      br i1 %zero, label %cold, label %ok
    cold:
      ret i32 -1
    ok:
      %minus = icmp eq i64 %length, -1
      %safe = select i1 %minus, i64 1, i64 %length
      %x = srem i64 %i, %safe
      %quotient = sdiv i64 %i, %safe
      %negated = sub i64 0, %i
      %y = select i1 %minus, i64 %negated, i64 %quotient
      %row = mul i64 %y, %length
      %at = add i64 %row, %x
      %p = getelementptr i32, ptr %b, i64 %at
      %v = load i32, ptr %p
      %q = getelementptr i32, ptr %c, i64 %x
      %w = load i32, ptr %q
      %inside = icmp sgt i64 %x, 1
      br i1 %inside, label %then, label %end
    then:
      %z = trunc i64 %y to i32
      %s = getelementptr i32, ptr %a, i64 %i
      store i32 %z, ptr %s
      br label %end
    end:
      %sum = add i32 %v, %w
      ret i32 %sum
    }})",
                     length);
}

TEST(Vectorize, FlatIndices) {
  const std::string text = flat_index("add i64 %n, 0");
  for (const std::int64_t n : {1, 2, 5, 37, 64, 100, 1000}) expect_same(text, {.n = n});
  expect_same(flat_index("sub i64 %n, 37"));  // nothing
  expect_same(flat_index("sub i64 36, %n"));  // the lowering handles it separately
  expect_same(flat_index("sub i64 -20, %n"));
  expect_same(flat_index("add i64 100, 0"));
  auto kernel = TestKernel::create(text, 8);
  ASSERT_TRUE(kernel.ok());
  // Those of the body for lanes in several rows.
  EXPECT_EQ(occurrences(kernel->vector_text(), "@llvm.masked.gather"), 2U) << kernel->vector_text();
}

TEST(Vectorize, FlatIndicesOfJoinedBits) {
  expect_same(R"(
    define i32 @body(i64 %i, ptr %a, ptr %b, ptr %c, i64 %n) {
    entry:
      %odd = trunc i64 %i to i1
      br i1 %odd, label %then, label %end
    then:
      %twice = shl i64 %i, 1
      %k = or disjoint i64 %twice, 1
      %x = srem i64 %k, %n
      %y = sdiv i64 %k, %n
      %p = getelementptr i32, ptr %b, i64 %x
      %v = load i32, ptr %p
      %z = trunc i64 %y to i32
      %sum = add i32 %v, %z
      br label %end
    end:
      %r = phi i32 [ %sum, %then ], [ 7, %entry ]
      ret i32 %r
    })",
              {.n = 100});
}

// Indices with large strides wrap between the first lane and the last one.
TEST(Vectorize, FlatIndicesThatGoAround) {
  const auto text = [](unsigned bits, std::uint64_t factor) {
    return fmt::format(R"(
    define i32 @body(i64 %i, ptr %a, ptr %b, ptr %c, i64 %n) {{
      %j = trunc i64 %i to i{0}
      %k = mul i{0} %j, {1}
      %length = trunc i64 %n to i{0}
      %x = srem i{0} %k, %length
      %y = sdiv i{0} %k, %length
      %x8 = trunc i{0} %x to i8
      %at = zext i8 %x8 to i64
      %p = getelementptr i32, ptr %b, i64 %at
      %v = load i32, ptr %p
      %z = trunc i{0} %y to i16
      %w = sext i16 %z to i32
      %sum = add i32 %v, %w
      ret i32 %sum
    }})",
                       bits, factor);
  };
  for (const std::uint64_t lanes : {4U, 8U, 16U, 32U}) {
    expect_same(text(32, (std::uint64_t{1} << 32) / (lanes - 1) + 1), {.n = 1000});
    expect_same(text(48, (std::uint64_t{1} << 48) / (lanes - 1) + 1), {.n = 1000});
  }
}

// The neighbours of an element, clamped to the edges of the array.
std::string edges(std::string_view left, std::string_view inside) {
  return fmt::format(R"(
    define i32 @body(i64 %i, ptr %a, ptr %b, ptr %c, i64 %n) {{
    entry:
      %last = sub i64 %n, 1
      %on.edge = icmp {} i64 %i, {}
      br i1 %on.edge, label %edge, label %before
    edge:
      %p0 = getelementptr i32, ptr %b, i64 %i
      %v0 = load i32, ptr %p0
      br label %next
    before:
      %after = add i64 %i, 1
      %p1 = getelementptr i32, ptr %b, i64 %after
      %v1 = load i32, ptr %p1
      br label %next
    next:
      %v = phi i32 [ %v0, %edge ], [ %v1, %before ]
      %from.one = sub i64 %i, 1
      %is.inside = icmp {} i64 %from.one, %last
      br i1 %is.inside, label %then, label %end
    then:
      %q = getelementptr i32, ptr %a, i64 %i
      store i32 %v, ptr %q
      br label %end
    end:
      ret i32 %v
    }})",
                     left.substr(0, left.find(' ')), left.substr(left.find(' ') + 1), inside);
}

TEST(Vectorize, Edges) {
  for (const std::string_view left : {"eq 5", "eq 12", "sle 1", "ult 9", "sge %n", "ugt -5"}) {
    for (const std::string_view inside : {"ult", "slt"}) {
      for (const std::int64_t n : {0, 9, 65}) expect_same(edges(left, inside), {.n = n});
    }
  }
  auto kernel = TestKernel::create(edges("eq 1", "ult"), 8);
  ASSERT_TRUE(kernel.ok());
  // Without masks where all lanes are inside.
  EXPECT_GE(occurrences(kernel->vector_text(), " = load <8 x i32>"), 1U) << kernel->vector_text();
}

// All elements of an array are in use, and the memory after it is inaccessible.
TEST(Vectorize, FieldsAtTheEndOfMemory) {
  const std::string text = R"(
    define i32 @body(i64 %i, ptr %a, ptr %b, ptr %c, i64 %n) {
    entry:
      %end = inttoptr i64 %n to ptr
      %p = getelementptr [3 x i32], ptr %end, i64 %i
      %q = getelementptr i8, ptr %p, i64 4
      %inside = icmp slt i64 %i, 0
      br i1 %inside, label %then, label %else
    then:
      %x = load i32, ptr %p
      %y = load i32, ptr %q
      %s = add i32 %x, %y
      br label %else
    else:
      %r = phi i32 [ %s, %then ], [ 7, %entry ]
      ret i32 %r
    })";
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  void* const memory = ::mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  ASSERT_EQ(::mprotect(static_cast<std::byte*>(memory) + page, page, PROT_NONE), 0);
  // The last structure is complete except for the bytes after its two fields.
  const auto end = reinterpret_cast<std::int64_t>(memory) + static_cast<std::int64_t>(page) + 4;
  std::memset(memory, 1, page);
  for (const unsigned width : {4U, 8U, 16U}) {
    auto kernel = TestKernel::create(text, width);
    ASSERT_TRUE(kernel.ok()) << kernel.error().to_string();
    for (unsigned active = 1; active <= width; ++active) {
      TestData data = new_data(Fill::kIntegers, 1);
      kernel->run_tail(data, -std::int64_t{active}, end, active);
      for (unsigned lane = 0; lane < active; ++lane) EXPECT_EQ(data.results[lane], 0x02020202U);
      data = new_data(Fill::kIntegers, 1);
      kernel->run_full(data, -std::int64_t{active}, end);
      for (unsigned lane = 0; lane < width; ++lane)
        EXPECT_EQ(data.results[lane], lane < active ? 0x02020202U : 7U);
    }
  }
  ::munmap(memory, 2 * page);
}

// Consecutive, with gaps, in any order, masked, with loads in between, and repeated.
TEST(Vectorize, StoresToFields) {
  const std::string text = R"(
    define i32 @body(i64 %i, ptr %a, ptr %b, ptr %c, i64 %n) {
    entry:
      %p0 = getelementptr [4 x i32], ptr %a, i64 %i
      %p1 = getelementptr i8, ptr %p0, i64 4
      %p2 = getelementptr i8, ptr %p0, i64 8
      %p3 = getelementptr i8, ptr %p0, i64 12
      %q0 = getelementptr [3 x i16], ptr %c, i64 %i, i64 0
      %q2 = getelementptr [3 x i16], ptr %c, i64 %i, i64 2
      %s = getelementptr i32, ptr %b, i64 %i
      %x = load i32, ptr %s
      %y = mul i32 %x, 3
      %f = sitofp i32 %x to float
      %h = trunc i32 %y to i16
      store i32 %x, ptr %p2
      store float %f, ptr %p0
      store i32 7, ptr %p3
      store i32 %y, ptr %p1
      store i16 %h, ptr %q2
      store i16 5, ptr %q0
      %odd = trunc i32 %x to i1
      br i1 %odd, label %then, label %end
    then:
      store i32 %y, ptr %p0
      %old = load i32, ptr %p1
      store i32 %old, ptr %p3
      store i32 1, ptr %p1
      %new = load i32, ptr %p1
      %sum = add i32 %old, %new
      store i32 %sum, ptr %p1
      br label %end
    end:
      %r = load i32, ptr %p3
      ret i32 %r
    })";
  expect_same(text);
  auto kernel = TestKernel::create(text, 8);
  ASSERT_TRUE(kernel.ok());
  EXPECT_EQ(kernel->vector_text().find("scatter"), std::string::npos) << kernel->vector_text();
}

// A double, two floats, a byte, and two padding bytes; some fields again under a mask.
TEST(Vectorize, FieldsOfMixedWidths) {
  const std::string text = R"(
    define i32 @body(i64 %i, ptr %a, ptr %b, ptr %c, i64 %n) {
    entry:
      %p0 = getelementptr [24 x i8], ptr %a, i64 %i
      %p8 = getelementptr i8, ptr %p0, i64 8
      %p12 = getelementptr i8, ptr %p0, i64 12
      %p16 = getelementptr i8, ptr %p0, i64 16
      %p18 = getelementptr i8, ptr %p0, i64 18
      %d = load i64, ptr %p0
      %x = load i32, ptr %p8
      %y = load float, ptr %p12
      %f = load i8, ptr %p16
      %h = load i16, ptr %p18
      %f32 = zext i8 %f to i32
      %h32 = sext i16 %h to i32
      %d32 = trunc i64 %d to i32
      %y32 = bitcast float %y to i32
      %s0 = add i32 %f32, %h32
      %s1 = add i32 %d32, %y32
      %s2 = xor i32 %s0, %s1
      %s3 = add i32 %s2, %x
      %g = trunc i32 %s3 to i8
      %e = zext i32 %s3 to i64
      store i8 %g, ptr %p16
      store i64 %e, ptr %p0
      store i32 %f32, ptr %p12
      %odd = trunc i32 %x to i1
      br i1 %odd, label %then, label %end
    then:
      store i16 5, ptr %p18
      %again = load i8, ptr %p16
      %wide = zext i8 %again to i32
      store i32 %wide, ptr %p8
      br label %end
    end:
      %all = load i64, ptr %p0
      %r = trunc i64 %all to i32
      ret i32 %r
    })";
  expect_same(text);
  auto kernel = TestKernel::create(text, 8);
  ASSERT_TRUE(kernel.ok());
  // Vectors of 256 bits have no masks for single bytes.
  if (test_compiler().target().vector_bits() < 512) return;
  EXPECT_EQ(kernel->vector_text().find("gather"), std::string::npos) << kernel->vector_text();
  EXPECT_EQ(kernel->vector_text().find("scatter"), std::string::npos) << kernel->vector_text();
}

// If a masked store is slow, it is skipped when no lane is active.
TEST(Vectorize, BranchesAroundStoresOfNoLane) {
  IrModule ir = test_compiler().new_module("test");
  llvm::SMDiagnostic problem;
  const std::string_view text = R"(
    define void @body(i64 %i, ptr %a, ptr %b) {
    entry:
      %from = getelementptr i32, ptr %a, i64 %i
      %x = load i32, ptr %from
      %is_odd = trunc i32 %x to i1
      br i1 %is_odd, label %then, label %end
    then:
      %to = getelementptr i32, ptr %b, i64 %i
      store i32 %x, ptr %to
      br label %end
    end:
      %y = add i32 %x, 1
      store i32 %y, ptr %from
      ret void
    })";
  ASSERT_FALSE(
      llvm::parseAssemblyInto(llvm::MemoryBufferRef(text, "test"), ir.module.get(), nullptr, problem));
  llvm::Function& body = *ir.module->getFunction("body");
  SpmdOptions options;
  options.args = {ArgShape::kLaneIndex, ArgShape::kUniform, ArgShape::kUniform};
  ASSERT_TRUE(prepare(body, options.args).ok());
  for (options.vector_bits = 128; options.vector_bits <= 512; options.vector_bits *= 2) {
    Result<llvm::Function*> wide = vectorize(body, options);
    ASSERT_TRUE(wide.ok());
    const auto branches =
        llvm::count_if(llvm::instructions(**wide), [](const llvm::Instruction& instruction) {
          const auto* branch = llvm::dyn_cast<llvm::BranchInst>(&instruction);
          return branch != nullptr && branch->isConditional();
        });
    EXPECT_EQ(branches, options.vector_bits == 512 ? 0 : 1) << options.vector_bits;
  }
}

// A masked store to a local array becomes a select: processors without AVX-512 store bytes one by one. If %n is beyond
// the array, no lane is active.
TEST(Vectorize, StoresToLocalArraysChoose) {
  const std::string text = R"(
    define i8 @body(i64 %i, ptr %a, ptr %b, ptr %c, i64 %n) {
    entry:
      %local = alloca [4 x i8]
      %from = getelementptr i8, ptr %b, i64 %i
      %x = load i8, ptr %from
      br label %first
    first:
      %k = phi i64 [ 0, %entry ], [ %next, %first ]
      %at = getelementptr [4 x i8], ptr %local, i64 0, i64 %k
      store i8 %x, ptr %at
      %next = add i64 %k, 1
      %more = icmp ult i64 %next, 4
      br i1 %more, label %first, label %then
    then:
      %is_odd = trunc i8 %x to i1
      %is_inside = icmp ult i64 %n, 4
      %wants = and i1 %is_odd, %is_inside
      br i1 %wants, label %change, label %end
    change:
      %place = getelementptr [4 x i8], ptr %local, i64 0, i64 %n
      %more_of_it = mul i8 %x, 3
      store i8 %more_of_it, ptr %place
      br label %end
    end:
      %last = getelementptr [4 x i8], ptr %local, i64 0, i64 2
      %y = load i8, ptr %last
      ret i8 %y
    })";
  for (const std::int64_t n : {std::int64_t{0}, std::int64_t{2}, std::int64_t{4}, std::int64_t{1} << 40})
    expect_same(text, {.n = n});
  auto kernel = TestKernel::create(text, 32, 256);
  ASSERT_TRUE(kernel.ok());
  EXPECT_EQ(kernel->vector_text().find("masked.store"), std::string::npos) << kernel->vector_text();
}

// At any offset in a word, under a mask.
TEST(Vectorize, GathersOfNarrowElements) {
  const std::string text = R"(
    define i32 @body(i64 %i, ptr %a, ptr %b, ptr %c, i64 %n) {
    entry:
      %from = getelementptr i32, ptr %a, i64 %i
      %x = load i32, ptr %from
      %at = zext i32 %x to i64
      %odd = trunc i32 %x to i1
      br i1 %odd, label %then, label %end
    then:
      %byte = getelementptr i8, ptr %b, i64 %at
      %half = getelementptr i16, ptr %c, i64 %at
      %u = load i8, ptr %byte
      %v = load i16, ptr %half
      %u32 = zext i8 %u to i32
      %v32 = sext i16 %v to i32
      %s = add i32 %u32, %v32
      br label %end
    end:
      %r = phi i32 [ %s, %then ], [ %x, %entry ]
      ret i32 %r
    })";
  expect_same(text);
}

// On either path, lanes store to the same element: all of them together, after the join.
TEST(Memory, SidesOfAChoiceStoreTogether) {
  const std::string text = R"(
    define i32 @body(i64 %i, ptr %a, ptr dereferenceable(64) align 8 %b, ptr %c, i64 %n) {
      %at = getelementptr i32, ptr %c, i64 %i
      %x = load i32, ptr %at
      %is_odd = trunc i32 %x to i1
      br i1 %is_odd, label %odd, label %even
    odd:
      %y = load i32, ptr %b, align 8
      %sum = add i32 %x, %y
      %first = getelementptr i32, ptr %a, i64 %i
      store i32 %sum, ptr %first
      br label %done
    even:
      %twice = shl i32 %x, 1
      %second = getelementptr i32, ptr %a, i64 %i
      store i32 %twice, ptr %second
      br label %done
    done:
      ret i32 %x
    })";
  expect_same(text);
  auto kernel = TestKernel::create(text, 8);
  ASSERT_TRUE(kernel.ok());
  EXPECT_EQ(kernel->vector_text().find("masked.store"), std::string::npos) << kernel->vector_text();
  // A load that is valid for all lanes needs no test whether any lane is active.
  EXPECT_EQ(kernel->vector_text().find("br i1"), std::string::npos) << kernel->vector_text();
}

}  // namespace
}  // namespace dhpvm::codegen::spmd
