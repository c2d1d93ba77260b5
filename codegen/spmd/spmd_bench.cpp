// SPDX-License-Identifier: Apache-2.0
// Measures whole-function vectorisation: `spmd_bench [--json] [--widths] [--cpu=NAME]`. For each kernel, the time of
// one iteration in nanoseconds: as a scalar loop, with LLVM's own vectorisers, and with one lane per iteration.
// --widths adds all numbers of lanes, from which choose_width was derived.
#include <fmt/format.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/Support/SourceMgr.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "codegen/host/host_compiler.h"
#include "codegen/spmd/vectorize.h"

namespace dhpvm::codegen {
namespace {

using spmd::ArgShape;
using Clock = std::chrono::steady_clock;

struct Kernel {
  const char* name;
  const char* text;  // @body(i64 %i, ptr %a, ptr %b, ptr %c, i64 %n)
  std::int64_t iterations;
  std::int64_t n;
};

constexpr char kSaxpy[] = R"(
define void @body(i64 %i, ptr noalias %a, ptr noalias %b, ptr noalias %c, i64 %n) {
  %s = load float, ptr %c, !invariant.load !0
  %pa = getelementptr float, ptr %a, i64 %i
  %pb = getelementptr float, ptr %b, i64 %i
  %x = load float, ptr %pb
  %y = load float, ptr %pa
  %p = fmul float %x, %s
  %r = fadd float %p, %y
  store float %r, ptr %pa
  ret void
}
!0 = !{})";

// One row of 1,024 points, up to n iterations each, with the coordinates of the whole set.
constexpr char kMandelbrot[] = R"(
define void @body(i64 %i, ptr noalias %a, ptr noalias %b, ptr noalias %c, i64 %n) {
entry:
  %fi = sitofp i64 %i to float
  %sx = fmul float %fi, 0x3F68000000000000
  %cx = fadd float %sx, -2.0
  %cy = load float, ptr %c, !invariant.load !0
  br label %head
head:
  %k = phi i64 [ 0, %entry ], [ %k1, %next ]
  %x = phi float [ 0.0, %entry ], [ %x1, %next ]
  %y = phi float [ 0.0, %entry ], [ %y1, %next ]
  %more = icmp slt i64 %k, %n
  br i1 %more, label %body, label %done
body:
  %xx = fmul float %x, %x
  %yy = fmul float %y, %y
  %rr = fadd float %xx, %yy
  %far = fcmp ogt float %rr, 4.0
  br i1 %far, label %done, label %next
next:
  %xy = fmul float %x, %y
  %xy2 = fadd float %xy, %xy
  %y1 = fadd float %xy2, %cy
  %d = fsub float %xx, %yy
  %x1 = fadd float %d, %cx
  %k1 = add i64 %k, 1
  br label %head
done:
  %k32 = trunc i64 %k to i32
  %p = getelementptr i32, ptr %a, i64 %i
  store i32 %k32, ptr %p
  ret void
}
!0 = !{})";

// One row of a product of n by n matrices, in the naive order.
constexpr char kSgemm[] = R"(
define void @body(i64 %i, ptr noalias %a, ptr noalias %b, ptr noalias %c, i64 %n) {
entry:
  br label %head
head:
  %k = phi i64 [ 0, %entry ], [ %k1, %body ]
  %s = phi float [ 0.0, %entry ], [ %s1, %body ]
  %more = icmp slt i64 %k, %n
  br i1 %more, label %body, label %done
body:
  %pc = getelementptr float, ptr %c, i64 %k
  %x = load float, ptr %pc
  %row = mul i64 %k, %n
  %at = add i64 %row, %i
  %pb = getelementptr float, ptr %b, i64 %at
  %y = load float, ptr %pb
  %p = fmul float %x, %y
  %s1 = fadd float %s, %p
  %k1 = add i64 %k, 1
  br label %head
done:
  %pa = getelementptr float, ptr %a, i64 %i
  store float %s, ptr %pa
  ret void
})";

// The same with a check of every index, as bytecode has it before checks are hoisted.
constexpr char kSgemmChecked[] = R"(
define i32 @body(i64 %i, ptr noalias %a, ptr noalias %b, ptr noalias %c, i64 %n) {
entry:
  %length = mul i64 %n, %n
  br label %head
head:
  %k = phi i64 [ 0, %entry ], [ %k1, %body ]
  %s = phi float [ 0.0, %entry ], [ %s1, %body ]
  %more = icmp slt i64 %k, %n
  br i1 %more, label %check, label %done
check:
  %row = mul i64 %k, %n
  %at = add i64 %row, %i
  %in = icmp ult i64 %at, %length
  br i1 %in, label %body, label %trap
body:
  %pc = getelementptr float, ptr %c, i64 %k
  %x = load float, ptr %pc
  %pb = getelementptr float, ptr %b, i64 %at
  %y = load float, ptr %pb
  %p = fmul float %x, %y
  %s1 = fadd float %s, %p
  %k1 = add i64 %k, 1
  br label %head
trap:
  ret i32 1
done:
  %pa = getelementptr float, ptr %a, i64 %i
  store float %s, ptr %pa
  ret i32 0
})";

// A European call option: price, strike and time from three arrays.
constexpr char kBlackScholes[] = R"(
declare float @logf(float)
declare float @expf(float)
declare float @erff(float)
declare float @llvm.sqrt.f32(float)
define void @body(i64 %i, ptr noalias %a, ptr noalias %b, ptr noalias %c, i64 %n) {
  %ps = getelementptr float, ptr %b, i64 %i
  %s0 = load float, ptr %ps
  %s = fadd float %s0, 1.0
  %pt = getelementptr float, ptr %c, i64 %i
  %t0 = load float, ptr %pt
  %t = fadd float %t0, 0.25
  %rt = call float @llvm.sqrt.f32(float %t)
  %vt = fmul float %rt, 0x3FD3333340000000
  %q = fdiv float %s, 1.5
  %l = call float @logf(float %q)
  %drift = fmul float %t, 0x3FB0A3D700000000
  %d = fadd float %l, %drift
  %d1 = fdiv float %d, %vt
  %d2 = fsub float %d1, %vt
  %e1 = fmul float %d1, 0x3FE6A09E60000000
  %e2 = fmul float %d2, 0x3FE6A09E60000000
  %f1 = call float @erff(float %e1)
  %f2 = call float @erff(float %e2)
  %g1 = fadd float %f1, 1.0
  %g2 = fadd float %f2, 1.0
  %n1 = fmul float %g1, 0.5
  %n2 = fmul float %g2, 0.5
  %m = fmul float %t, 0xBF947AE140000000
  %x = call float @expf(float %m)
  %k = fmul float %x, 1.5
  %p1 = fmul float %s, %n1
  %p2 = fmul float %k, %n2
  %price = fsub float %p1, %p2
  %pa = getelementptr float, ptr %a, i64 %i
  store float %price, ptr %pa
  ret void
})";

constexpr Kernel kKernels[] = {
    {"saxpy", kSaxpy, 4096, 0},
    {"mandelbrot row, f32", kMandelbrot, 1024, 256},
    {"sgemm row, 512", kSgemm, 512, 512},
    {"sgemm row, 512, checked", kSgemmChecked, 512, 512},
    {"black-scholes, f32", kBlackScholes, 4096, 0},
};

enum class Form { kScalar, kAutomatic, kLanes };

[[noreturn]] void give_up(const Error& error) {
  fmt::print(stderr, "{}\n", error.to_string());
  std::exit(1);
}

// void run(ptr a, ptr b, ptr c, i64 n, i64 count): calls `step` for every `width` iterations and `tail`, if there is
// one, for the remainder.
void make_loop(llvm::Module& module, llvm::Function& step, llvm::Function* tail, unsigned width) {
  llvm::LLVMContext& context = module.getContext();
  llvm::Type* i64 = llvm::Type::getInt64Ty(context);
  llvm::Type* ptr = llvm::PointerType::getUnqual(context);
  auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(context), {ptr, ptr, ptr, i64, i64}, false);
  auto* run = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, "run", module);
  for (unsigned i = 0; i < 3; ++i) run->addParamAttr(i, llvm::Attribute::NoAlias);
  const auto block = [&](const char* name) { return llvm::BasicBlock::Create(context, name, run); };
  llvm::BasicBlock* entry = block("entry");
  llvm::BasicBlock* loop = block("loop");
  llvm::BasicBlock* rest = block("rest");
  llvm::BasicBlock* last = block("last");
  llvm::BasicBlock* done = block("done");
  llvm::IRBuilder<> builder(entry);
  llvm::Value* count = run->getArg(4);
  llvm::Value* whole = builder.CreateAnd(count, builder.getInt64(~(std::uint64_t{width} - 1)));
  const auto call = [&](llvm::Function* function, llvm::Value* index, llvm::Value* active) {
    std::vector<llvm::Value*> arguments{index, run->getArg(0), run->getArg(1), run->getArg(2),
                                        run->getArg(3)};
    if (active != nullptr) arguments.push_back(active);
    llvm::CallInst* made = builder.CreateCall(function, arguments);
    if (!made->getType()->isVoidTy()) {
      // A status, which must be used.
      llvm::Value* status = made;
      if (status->getType()->isVectorTy()) status = builder.CreateOrReduce(status);
      llvm::BasicBlock* trapped = block("trapped");
      llvm::BasicBlock* fine = block("fine");
      builder.CreateCondBr(builder.CreateIsNotNull(status), trapped, fine);
      builder.SetInsertPoint(trapped);
      builder.CreateRetVoid();
      builder.SetInsertPoint(fine);
    }
  };
  builder.CreateCondBr(builder.CreateIsNotNull(whole), loop, rest);
  builder.SetInsertPoint(loop);
  llvm::PHINode* index = builder.CreatePHI(i64, 2);
  index->addIncoming(builder.getInt64(0), entry);
  call(&step, index, nullptr);
  llvm::Value* next = builder.CreateNUWAdd(index, builder.getInt64(width));
  index->addIncoming(next, builder.GetInsertBlock());
  builder.CreateCondBr(builder.CreateICmpSLT(next, whole), loop, rest);
  builder.SetInsertPoint(rest);
  builder.CreateCondBr(builder.CreateICmpSLT(whole, count), last, done);
  builder.SetInsertPoint(last);
  if (tail != nullptr) call(tail, whole, builder.CreateSub(count, whole));
  builder.CreateBr(done);
  builder.SetInsertPoint(done);
  builder.CreateRetVoid();
}

struct CompiledForm {
  LoadedCode code;
  unsigned width;
  double vectorize_ms;
  double compile_ms;
};

double milliseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

CompiledForm compile(HostCompiler& compiler, const Kernel& kernel, Form form, unsigned width) {
  IrModule ir = compiler.new_module(kernel.name);
  llvm::SMDiagnostic problem;
  if (llvm::parseAssemblyInto(llvm::MemoryBufferRef(kernel.text, kernel.name), ir.module.get(), nullptr,
                              problem)) {
    fmt::print(stderr, "{}: {}\n", kernel.name, problem.getMessage().str());
    std::exit(1);
  }
  llvm::Function* body = ir.module->getFunction("body");
  body->setLinkage(llvm::GlobalValue::InternalLinkage);
  const Clock::time_point begin = Clock::now();
  spmd::SpmdOptions options;
  options.args = {ArgShape::kLaneIndex, ArgShape::kUniform, ArgShape::kUniform, ArgShape::kUniform,
                  ArgShape::kUniform};
  options.vector_bits = compiler.target().vector_bits();
  options.width = 1;
  llvm::Function* tail = nullptr;
  llvm::Function* step = body;
  if (form == Form::kLanes) {
    if (const Status status = spmd::prepare(*body, options.args); !status.ok()) give_up(status.error());
    options.width = width != 0 ? width : spmd::choose_width(*body, options.args, options.vector_bits);
    SymbolTable symbols;
    options.has_symbol = [&](std::string_view name) { return symbols.find(name) != nullptr; };
    auto full = spmd::vectorize(*body, options);
    if (!full.ok()) give_up(full.error());
    options.tail = true;
    auto masked = spmd::vectorize(*body, options);
    if (!masked.ok()) give_up(masked.error());
    step = *full;
    tail = *masked;
    tail->addFnAttr(llvm::Attribute::AlwaysInline);
  }
  step->addFnAttr(llvm::Attribute::AlwaysInline);
  make_loop(*ir.module, *step, tail, options.width);
  const double vectorize_ms = milliseconds_since(begin);
  auto code =
      compiler.compile(std::move(ir), form == Form::kAutomatic ? Pipeline::kFunctions : Pipeline::kKernels);
  if (!code.ok()) give_up(code.error());
  return {std::move(code).value(), options.width, vectorize_ms, milliseconds_since(begin)};
}

// The processor time of this thread, independent of other programs.
double processor_nanoseconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

// Nanoseconds per iteration, the median of 9, and a checksum.
double measure(const CompiledForm& compiled, const Kernel& kernel, double& sum) {
  using Run = void(float*, float*, float*, std::int64_t, std::int64_t);
  auto* run = compiled.code.function<Run>("run");
  std::vector<float> a(8192);
  std::vector<float> b(1 << 19);
  std::vector<float> c(8192);
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i * 7919 % 1000) / 1000.0F;
  for (std::size_t i = 0; i < c.size(); ++i) c[i] = static_cast<float>((i + 800) * 104729 % 1000) / 1000.0F;
  std::vector<double> times;
  run(a.data(), b.data(), c.data(), kernel.n, kernel.iterations);
  sum = 0;
  for (const float value : a) sum += std::isfinite(value) ? value : 0;
  const auto once = [&] {
    const double begin = processor_nanoseconds();
    run(a.data(), b.data(), c.data(), kernel.n, kernel.iterations);
    return processor_nanoseconds() - begin;
  };
  const int repeats = static_cast<int>(std::clamp(4e6 / once(), 1.0, 1e5));
  for (int round = 0; round < 9; ++round) {
    const double begin = processor_nanoseconds();
    for (int i = 0; i < repeats; ++i) run(a.data(), b.data(), c.data(), kernel.n, kernel.iterations);
    const double elapsed = processor_nanoseconds() - begin;
    times.push_back(elapsed / repeats / static_cast<double>(kernel.iterations));
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

int run(std::string_view cpu, bool json, bool all_widths) {
  auto created = HostCompiler::create(cpu, std::make_unique<SymbolTable>());
  if (!created.ok()) give_up(created.error());
  HostCompiler& compiler = **created;
  for (const Kernel& kernel : kKernels) {
    double expected = 0;
    const double scalar = measure(compile(compiler, kernel, Form::kScalar, 0), kernel, expected);
    const auto row = [&](std::string_view form, const CompiledForm& compiled) {
      double sum = 0;
      const double time = measure(compiled, kernel, sum);
      const bool agrees = std::abs(sum - expected) <= 1e-5 * std::abs(expected);
      if (json) {
        const nlohmann::ordered_json figure{{"name", fmt::format("{}, {}", kernel.name, form)},
                                            {"value", time},
                                            {"unit", "ns"},
                                            {"scalar", scalar}};
        fmt::print("{}\n", figure.dump());
      } else {
        fmt::print(
            "{:<26}{:<10}{:>9.4f} ns  {:>6.2f} times the scalar loop  vectorised in {:>5.2f} ms, compiled in "
            "{:>6.2f} ms{}\n",
            kernel.name, form, time, scalar / time, compiled.vectorize_ms, compiled.compile_ms,
            agrees ? "" : "  RESULTS DIFFER");
      }
      if (!agrees) std::exit(1);
    };
    row("automatic", compile(compiler, kernel, Form::kAutomatic, 0));
    for (unsigned width = 4; all_widths && width <= 64; width *= 2) {
      row(fmt::format("{} lanes", width), compile(compiler, kernel, Form::kLanes, width));
    }
    const CompiledForm chosen = compile(compiler, kernel, Form::kLanes, 0);
    row(fmt::format("chose {}", chosen.width), chosen);
  }
  return 0;
}

}  // namespace
}  // namespace dhpvm::codegen

int main(int argc, char** argv) {
  bool json = false;
  bool all_widths = false;
  std::string_view cpu = "native";
  for (int i = 1; i < argc; ++i) {
    json |= std::string_view(argv[i]) == "--json";
    all_widths |= std::string_view(argv[i]) == "--widths";
    if (std::string_view(argv[i]).starts_with("--cpu=")) cpu = argv[i] + 6;
  }
  return dhpvm::codegen::run(cpu, json, all_widths);
}
