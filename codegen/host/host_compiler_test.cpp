// SPDX-License-Identifier: Apache-2.0
#include "codegen/host/host_compiler.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "codegen/cached/loaded_code.h"
#include "codegen/host/ir_for_tests.h"

namespace dhpvm::codegen {
namespace {

constexpr const char* kAdd = R"(
    define internal i64 @plus(i64 %a, i64 %b) {
      %c = add i64 %a, %b
      ret i64 %c
    }
    define i64 @add(i64 %a, i64 %b) {
      %slot = alloca i64
      %c = call i64 @plus(i64 %a, i64 %b)
      store i64 %c, ptr %slot
      %d = load i64, ptr %slot
      ret i64 %d
    })";
using Add = std::int64_t(std::int64_t, std::int64_t);

TEST(HostCompiler, CompilesAndCalls) {
  const auto compiler = new_compiler();
  for (const Pipeline pipeline : {Pipeline::kFunctions, Pipeline::kKernels}) {
    auto code = compiler->compile(parse(*compiler, kAdd), pipeline);
    ASSERT_TRUE(code.ok()) << code.error().to_string();
    auto* add = code->function<Add>("add");
    ASSERT_NE(add, nullptr);
    EXPECT_EQ(add(40, 2), 42);
    EXPECT_EQ(code->address("subtract"), nullptr);
    EXPECT_EQ(code->address("plus"), nullptr);
  }
}

// The sum of the first %n elements that are positive.
constexpr const char* kSum = R"(
    define double @sum(ptr %a, i64 %n) {
    entry:
      br label %head
    head:
      %i = phi i64 [ 0, %entry ], [ %next, %rest ]
      %s = phi double [ 0.0, %entry ], [ %sum, %rest ]
      %more = icmp slt i64 %i, %n
      br i1 %more, label %body, label %done
    body:
      %p = getelementptr double, ptr %a, i64 %i
      %v = load double, ptr %p
      %positive = fcmp ogt double %v, 0.0
      br i1 %positive, label %add, label %rest
    add:
      %t = fadd double %s, %v
      br label %rest
    rest:
      %sum = phi double [ %s, %body ], [ %t, %add ]
      %next = add i64 %i, 1
      br label %head
    done:
      ret double %s
    })";

// All compilations share target machines, whose settings must be those of the current pipeline.
TEST(HostCompiler, BaselineCodeIsAnotherAndLeavesTheOthersAsTheyWere) {
  const auto compiler = new_compiler();
  const auto assembly = [&](Pipeline pipeline) {
    CompileRequest request;
    request.ir = parse(*compiler, kSum);
    request.pipeline = pipeline;
    request.list_assembly = true;
    auto compiled = compiler->compile(std::move(request));
    EXPECT_TRUE(compiled.ok()) << compiled.error().to_string();
    if (!compiled.ok()) return std::string();
    auto* const sum = compiled->code.function<double(const double*, std::int64_t)>("sum");
    const double values[] = {1, -2, 3, 4};
    EXPECT_EQ(sum(values, 4), 8);
    return compiled->assembly;
  };
  const std::string optimised = assembly(Pipeline::kKernels);
  EXPECT_NE(assembly(Pipeline::kBaseline), optimised);
  EXPECT_EQ(assembly(Pipeline::kKernels), optimised);
}

TEST(HostCompiler, CallsTheRuntimeAndTheMathLibrary) {
  const auto compiler = new_compiler();
  static std::int64_t seen;
  seen = 0;
  void (*const record)(std::int64_t) = [](std::int64_t value) { seen = value; };
  const NamedAddress symbols[] = {{"record", reinterpret_cast<const void*>(record)}};
  auto code = compiler->compile(parse(*compiler, R"(
    declare void @record(i64)
    declare double @sin(double)
    define double @run(double %x) {
      call void @record(i64 7)
      %y = call double @sin(double %x)
      ret double %y
    })"),
                                Pipeline::kFunctions, symbols);
  ASSERT_TRUE(code.ok()) << code.error().to_string();
  EXPECT_EQ(code->function<double(double)>("run")(0.5), std::sin(0.5));
  EXPECT_EQ(seen, 7);
}

TEST(HostCompiler, NamesWhatIsUndefined) {
  const auto compiler = new_compiler();
  auto code = compiler->compile(parse(*compiler, R"(
    declare void @nowhere()
    declare i32 @system(ptr)
    define void @run() {
      call void @nowhere()
      call i32 @system(ptr null)
      ret void
    })"),
                                Pipeline::kFunctions);
  ASSERT_FALSE(code.ok());
  EXPECT_EQ(code.error().code(), ErrorCode::kLink);
  EXPECT_NE(code.error().message().find("nowhere, system"), std::string::npos) << code.error().message();
}

TEST(HostCompiler, ListsTracesAndCounts) {
  Tracer tracer;
  HostOptions options;
  options.tracer = &tracer;
  const auto compiler = new_compiler("native", options);
  CompileRequest request;
  request.ir = parse(*compiler, kAdd);
  request.list_ir = request.list_assembly = true;
  request.track = tracer.add_track("compiler");
  auto compiled = compiler->compile(std::move(request));
  ASSERT_TRUE(compiled.ok()) << compiled.error().to_string();
  EXPECT_EQ(compiled->code.function<Add>("add")(1, 2), 3);
  EXPECT_NE(compiled->ir.find("define i64 @add"), std::string::npos) << compiled->ir;
  EXPECT_EQ(compiled->ir.find("call"), std::string::npos) << compiled->ir;
  EXPECT_EQ(compiled->ir.find("alloca"), std::string::npos) << compiled->ir;
  EXPECT_NE(compiled->assembly.find("add:"), std::string::npos) << compiled->assembly;
  EXPECT_GT(compiled->times.optimise_ms, 0);
  EXPECT_GT(compiled->times.emit_ms, 0);
  EXPECT_GT(compiled->times.link_ms, 0);
  EXPECT_GT(compiled->object_bytes, 100U);
  for (const char* slice : {"optimise test", "emit test", "link test"}) {
    EXPECT_NE(tracer.to_json().find(slice), std::string::npos) << slice;
  }
  EXPECT_EQ(compiler->stats().compiled, 1U);
  EXPECT_EQ(compiler->stats().object_bytes, compiled->object_bytes);
}

TEST(HostCompiler, VectorisesLoopsOfFunctions) {
  const auto compiler = new_compiler();
  CompileRequest request;
  request.ir = parse(*compiler, R"(
    define void @scale(ptr %p, i64 %n) {
    entry:
      br label %loop
    loop:
      %i = phi i64 [0, %entry], [%j, %loop]
      %a = getelementptr double, ptr %p, i64 %i
      %x = load double, ptr %a
      %y = fmul double %x, 3.0
      store double %y, ptr %a
      %j = add i64 %i, 1
      %more = icmp slt i64 %j, %n
      br i1 %more, label %loop, label %done
    done:
      ret void
    })");
  request.list_ir = true;
  auto compiled = compiler->compile(std::move(request));
  ASSERT_TRUE(compiled.ok());
  EXPECT_NE(compiled->ir.find(" x double>"), std::string::npos) << compiled->ir;
  std::vector<double> values(1000, 2.0);
  compiled->code.function<void(double*, std::int64_t)>("scale")(values.data(), 999);
  EXPECT_EQ(values[998], 6.0);
  EXPECT_EQ(values[999], 2.0);
}

// `y[i] = x[i] + y[i - 1]`: the element stored in the previous turn is not loaded again.
TEST(HostCompiler, KeepsStoredElementsInRegisters) {
  const auto compiler = new_compiler();
  CompileRequest request;
  request.ir = parse(*compiler, R"(
    define void @sums(ptr noalias %x, ptr noalias %y, i64 %n) {
    entry:
      %before = getelementptr i8, ptr %y, i64 -8
      br label %loop
    loop:
      %i = phi i64 [1, %entry], [%j, %loop]
      %a = getelementptr double, ptr %x, i64 %i
      %u = load double, ptr %a
      %b = getelementptr double, ptr %before, i64 %i
      %v = load double, ptr %b
      %w = fadd double %u, %v
      %c = getelementptr double, ptr %y, i64 %i
      store double %w, ptr %c
      %j = add i64 %i, 1
      %more = icmp slt i64 %j, %n
      br i1 %more, label %loop, label %done
    done:
      ret void
    })");
  request.list_ir = true;
  auto compiled = compiler->compile(std::move(request));
  ASSERT_TRUE(compiled.ok());
  EXPECT_NE(compiled->ir.find("phi double"), std::string::npos) << compiled->ir;
  std::vector<double> x(1000, 2.0);
  std::vector<double> y(1000, 1.0);
  compiled->code.function<void(const double*, double*, std::int64_t)>("sums")(x.data(), y.data(), 1000);
  EXPECT_EQ(y[999], 1999.0);
}

TEST(HostCompiler, InvalidIrIsAnError) {
  const auto compiler = new_compiler();
  IrModule ir = parse(*compiler, kAdd);
  ir.module->getFunction("add")->getEntryBlock().getTerminator()->eraseFromParent();
  auto code = compiler->compile(std::move(ir), Pipeline::kFunctions);
  ASSERT_FALSE(code.ok());
  EXPECT_EQ(code.error().code(), ErrorCode::kInternal);
  EXPECT_NE(code.error().message().find("terminator"), std::string::npos) << code.error().message();
}

#if defined(__x86_64__)
TEST(HostCompiler, WhatTheProcessorLacksIsAnErrorAndNoSignal) {
  const LostOnPurpose lost_on_purpose;
  const auto compiler = new_compiler("x86-64");
  // The attribute would allow features that the target lacks.
  auto code = compiler->compile(parse(*compiler, R"(
    declare <16 x float> @llvm.x86.avx512.rsqrt14.ps.512(<16 x float>, <16 x float>, i16)
    define <16 x float> @run(<16 x float> %x) "target-features"="+avx512f" {
      %y = call <16 x float> @llvm.x86.avx512.rsqrt14.ps.512(<16 x float> %x, <16 x float> %x, i16 -1)
      ret <16 x float> %y
    })"),
                                Pipeline::kKernels);
  ASSERT_FALSE(code.ok());
  EXPECT_EQ(code.error().code(), ErrorCode::kInternal);
  EXPECT_NE(code.error().message().find("LLVM cannot compile this"), std::string::npos)
      << code.error().message();
  // The compiler works as before.
  auto next = compiler->compile(parse(*compiler, kAdd), Pipeline::kFunctions);
  ASSERT_TRUE(next.ok());
  EXPECT_EQ(next->function<Add>("add")(1, 2), 3);
}
#endif

TEST(HostCompiler, LackOfMemoryIsAnError) {
#if DHPVM_TEST_HAS(address_sanitizer) || DHPVM_TEST_HAS(thread_sanitizer)
  GTEST_SKIP() << "sanitizers need more address space than this test leaves";
#else
  // In a child process, at every distance from the limit up to the sufficient one.
  constexpr std::size_t kBlock = 64 * 1024;
  int enough = 0, errors = 0;
  for (std::size_t room = kBlock; enough == 0 && room < (std::size_t{1} << 30); room *= 3) {
    const int result = in_child([room] {
      const auto compiler = new_compiler();
      std::string text = "define double @big(ptr %p) {\n  %v0 = load double, ptr %p\n";
      for (int i = 1; i < 1000; ++i) {
        text += fmt::format(
            "  %a{0} = getelementptr double, ptr %p, i64 {0}\n"
            "  %x{0} = load double, ptr %a{0}\n"
            "  %v{0} = fadd double %v{1}, %x{0}\n",
            i, i - 1);
      }
      IrModule ir = parse(*compiler, text + "  ret double %v999\n}");
      // Allocates all memory but `room`, including memory that earlier tests have freed.
      const rlimit space = {std::size_t{1} << 30, std::size_t{1} << 30};
      if (::setrlimit(RLIMIT_AS, &space) != 0) return 3;
      void* const balloon = ::mmap(nullptr, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      std::vector<void*> blocks, crumbs;
      blocks.reserve(space.rlim_cur / kBlock);
      crumbs.reserve(space.rlim_cur / kBlock);
      while (void* block = std::malloc(kBlock)) blocks.push_back(block);
      while (void* crumb = std::malloc(kBlock / 64)) crumbs.push_back(crumb);
      ::munmap(balloon, room);
      auto code = compiler->compile(std::move(ir), Pipeline::kFunctions);
      if (code.ok()) return 1;
      return code.error().code() == ErrorCode::kOutOfMemory ? 0 : 2;
    });
    // If exceptions cannot pass through LLVM, or the stack cannot grow, the process ends.
    const bool died = result < 0;
    ASSERT_TRUE(died || result == 0 || result == 1)
        << "result " << result << " with " << room << " bytes left";
    enough = result == 1 ? 1 : 0;
    errors += result == 0 ? 1 : 0;
  }
  EXPECT_EQ(enough, 1);
  EXPECT_GT(errors, 0);
#endif
}

class CachedTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "host_compiler_XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    directory_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::shared_ptr<CodeCache> cache() const {
    CodeCacheOptions options;
    options.directory = directory_;
    return std::make_shared<CodeCache>(options);
  }
  static std::unique_ptr<HostCompiler> compiler(std::shared_ptr<CodeCache> cache) {
    HostOptions options;
    options.cache = std::move(cache);
    return new_compiler("native", options);
  }
  static std::unique_ptr<Linker> linker() {
    auto made = Linker::create(std::make_unique<SymbolTable>());
    return made.ok() ? std::move(made).value() : nullptr;
  }
  std::string directory_;
};

TEST_F(CachedTest, AnotherProcessFindsWhatThisOneCompiled) {
  const std::byte sites[] = {std::byte{7}, std::byte{8}};
  const CacheKey key = cache_key("build", {"the add function"});
  {
    const auto first = compiler(cache());
    EXPECT_FALSE(load_cached(*cache(), *linker(), key));
    CompileRequest request;
    request.ir = parse(*first, kAdd);
    request.key = &key;
    request.metadata = sites;
    ASSERT_TRUE(first->compile(std::move(request)).ok());
  }
  auto found = load_cached(*cache(), *linker(), key);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->code.function<Add>("add")(20, 22), 42);
  EXPECT_EQ(found->metadata, std::vector<std::byte>(std::begin(sites), std::end(sites)));
}

TEST_F(CachedTest, AnEntryThatCannotBeLinkedIsRemoved) {
  const auto kept = cache();
  const auto first = compiler(kept);
  const CacheKey key = cache_key("build", {"uses a helper"});
  const int here = 0;
  const NamedAddress helper[] = {{"helper", &here}};
  CompileRequest request;
  request.ir = parse(*first,
                     "@helper = external global i32\n"
                     "define ptr @where() {\n ret ptr @helper\n}");
  request.key = &key;
  request.symbols = helper;
  auto compiled = first->compile(std::move(request));
  ASSERT_TRUE(compiled.ok()) << compiled.error().to_string();
  auto found = load_cached(*kept, *linker(), key, helper);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->code.function<const void*()>("where")(), &here);
  EXPECT_FALSE(load_cached(*kept, *linker(), key));
  EXPECT_FALSE(load_cached(*kept, *linker(), key, helper));
}

}  // namespace
}  // namespace dhpvm::codegen
