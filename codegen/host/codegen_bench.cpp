// SPDX-License-Identifier: Apache-2.0
// The host code generator's time by phase: a script waits that long when its first loop is compiled.
//   codegen_bench [--json] [--rounds=n] [--kernels] [FILE.ll ...]
// Compiles LLVM IR in the form that lowering and vectorisation produce: two built-in kernels and a function, or the
// given files (as functions, after --kernels as kernels). Times are processor time, the median of the rounds; "first"
// is the first compilation, with cold caches.
#include <fmt/format.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/SourceMgr.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/host/emit.h"
#include "codegen/host/host_compiler.h"

namespace dhpvm::codegen {
namespace {

constexpr double kBar = 15;  // ms for a kernel, in all

// y[i] = a * x[i] + y[i], 16 iterations at a time, with a masked tail.
constexpr const char* kSaxpy = R"(
declare <16 x float> @llvm.masked.load.v16f32.p0(ptr, i32, <16 x i1>, <16 x float>)
declare void @llvm.masked.store.v16f32.p0(<16 x float>, ptr, i32, <16 x i1>)
define i32 @saxpy(ptr %x, ptr %y, float %a, i64 %low, i64 %high, ptr %stop) {
entry:
  %i = alloca i64
  store i64 %low, ptr %i
  %one = insertelement <16 x float> poison, float %a, i64 0
  %as = shufflevector <16 x float> %one, <16 x float> poison, <16 x i32> zeroinitializer
  br label %head
head:
  %now = load i64, ptr %i
  %next = add i64 %now, 16
  %whole = icmp sle i64 %next, %high
  br i1 %whole, label %body, label %tail
body:
  %px = getelementptr float, ptr %x, i64 %now
  %py = getelementptr float, ptr %y, i64 %now
  %vx = load <16 x float>, ptr %px, align 4
  %vy = load <16 x float>, ptr %py, align 4
  %m = fmul <16 x float> %as, %vx
  %s = fadd <16 x float> %m, %vy
  store <16 x float> %s, ptr %py, align 4
  store i64 %next, ptr %i
  %flag = load atomic i32, ptr %stop monotonic, align 4
  %stopped = icmp ne i32 %flag, 0
  br i1 %stopped, label %leave, label %head
leave:
  ret i32 2
tail:
  %left = sub i64 %high, %now
  %l1 = insertelement <16 x i64> poison, i64 %left, i64 0
  %ls = shufflevector <16 x i64> %l1, <16 x i64> poison, <16 x i32> zeroinitializer
  %mask = icmp slt <16 x i64> <i64 0, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7, i64 8, i64 9, i64 10, i64 11,
                               i64 12, i64 13, i64 14, i64 15>, %ls
  %qx = getelementptr float, ptr %x, i64 %now
  %qy = getelementptr float, ptr %y, i64 %now
  %wx = call <16 x float> @llvm.masked.load.v16f32.p0(ptr %qx, i32 4, <16 x i1> %mask, <16 x float> zeroinitializer)
  %wy = call <16 x float> @llvm.masked.load.v16f32.p0(ptr %qy, i32 4, <16 x i1> %mask, <16 x float> zeroinitializer)
  %n = fmul <16 x float> %as, %wx
  %t = fadd <16 x float> %n, %wy
  call void @llvm.masked.store.v16f32.p0(<16 x float> %t, ptr %qy, i32 4, <16 x i1> %mask)
  ret i32 0
})";

// Mandelbrot: an inner loop that lanes leave one after the other.
constexpr const char* kMandelbrot = R"(
declare i1 @llvm.vector.reduce.or.v16i1(<16 x i1>)
define i32 @mandelbrot(ptr %out, i64 %width, i64 %ylow, i64 %yhigh, i32 %limit) {
entry:
  %lim1 = insertelement <16 x i32> poison, i32 %limit, i64 0
  %lims = shufflevector <16 x i32> %lim1, <16 x i32> poison, <16 x i32> zeroinitializer
  br label %rows
rows:
  %y = phi i64 [ %ylow, %entry ], [ %ynext, %rowdone ]
  %yin = icmp slt i64 %y, %yhigh
  br i1 %yin, label %row, label %done
row:
  %yf = sitofp i64 %y to float
  %ys = fmul float %yf, 3.906250e-03
  %ci0 = fadd float %ys, -1.0
  %ci1 = insertelement <16 x float> poison, float %ci0, i64 0
  %ci = shufflevector <16 x float> %ci1, <16 x float> poison, <16 x i32> zeroinitializer
  br label %columns
columns:
  %x = phi i64 [ 0, %row ], [ %xnext, %store ]
  %xin = icmp slt i64 %x, %width
  br i1 %xin, label %column, label %rowdone
column:
  %x32 = trunc i64 %x to i32
  %x1 = insertelement <16 x i32> poison, i32 %x32, i64 0
  %xs = shufflevector <16 x i32> %x1, <16 x i32> poison, <16 x i32> zeroinitializer
  %xi = add <16 x i32> %xs, <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11,
                             i32 12, i32 13, i32 14, i32 15>
  %xf = sitofp <16 x i32> %xi to <16 x float>
  %scale1 = insertelement <16 x float> poison, float 3.906250e-03, i64 0
  %scale = shufflevector <16 x float> %scale1, <16 x float> poison, <16 x i32> zeroinitializer
  %cr0 = fmul <16 x float> %xf, %scale
  %two1 = insertelement <16 x float> poison, float 2.0, i64 0
  %two = shufflevector <16 x float> %two1, <16 x float> poison, <16 x i32> zeroinitializer
  %cr = fsub <16 x float> %cr0, %two
  %four = fadd <16 x float> %two, %two
  br label %inner
inner:
  %live = phi <16 x i1> [ splat (i1 true), %column ], [ %stay, %step ]
  %zr = phi <16 x float> [ zeroinitializer, %column ], [ %zr2, %step ]
  %zi = phi <16 x float> [ zeroinitializer, %column ], [ %zi2, %step ]
  %n = phi <16 x i32> [ zeroinitializer, %column ], [ %n2, %step ]
  %r2 = fmul <16 x float> %zr, %zr
  %i2 = fmul <16 x float> %zi, %zi
  %len = fadd <16 x float> %r2, %i2
  %small = fcmp olt <16 x float> %len, %four
  %more = icmp slt <16 x i32> %n, %lims
  %both = and <16 x i1> %small, %more
  %stay = and <16 x i1> %both, %live
  %any = call i1 @llvm.vector.reduce.or.v16i1(<16 x i1> %stay)
  br i1 %any, label %step, label %store
step:
  %zz = fmul <16 x float> %zr, %zi
  %zz2 = fmul <16 x float> %zz, %two
  %nzi = fadd <16 x float> %zz2, %ci
  %d = fsub <16 x float> %r2, %i2
  %nzr = fadd <16 x float> %d, %cr
  %zr2 = select <16 x i1> %stay, <16 x float> %nzr, <16 x float> %zr
  %zi2 = select <16 x i1> %stay, <16 x float> %nzi, <16 x float> %zi
  %inc = zext <16 x i1> %stay to <16 x i32>
  %n2 = add <16 x i32> %n, %inc
  br label %inner
store:
  %o = mul i64 %y, %width
  %ox = add i64 %o, %x
  %p = getelementptr i32, ptr %out, i64 %ox
  store <16 x i32> %n, ptr %p, align 4
  %xnext = add i64 %x, 16
  br label %columns
rowdone:
  %ynext = add i64 %y, 1
  br label %rows
done:
  ret i32 0
})";

// A dot product, with checked accesses through a small function.
constexpr const char* kDot = R"(
declare void @dhpvm_trap(i64, i64, i64)
define internal double @get(ptr %a, i64 %i) {
  %lp = getelementptr i8, ptr %a, i64 8
  %len = load i64, ptr %lp
  %ok = icmp ult i64 %i, %len
  br i1 %ok, label %in, label %out
out:
  call void @dhpvm_trap(i64 1, i64 %i, i64 %len)
  unreachable
in:
  %d = getelementptr i8, ptr %a, i64 16
  %p = getelementptr double, ptr %d, i64 %i
  %v = load double, ptr %p
  ret double %v
}
define double @dot(ptr %a, ptr %b, i64 %n) {
  %i = alloca i64
  %s = alloca double
  store i64 0, ptr %i
  store double 0.0, ptr %s
  br label %head
head:
  %k = load i64, ptr %i
  %more = icmp slt i64 %k, %n
  br i1 %more, label %body, label %done
body:
  %x = call double @get(ptr %a, i64 %k)
  %y = call double @get(ptr %b, i64 %k)
  %m = fmul double %x, %y
  %old = load double, ptr %s
  %new = fadd double %old, %m
  store double %new, ptr %s
  %next = add i64 %k, 1
  store i64 %next, ptr %i
  br label %head
done:
  %r = load double, ptr %s
  ret double %r
})";

struct Options {
  bool json = false;
  int rounds = 21;
};

struct Input {
  std::string name;
  std::string text;
  Pipeline pipeline;
};

double now_ms() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) * 1e-6;
}

[[noreturn]] void fail(const std::string& message) {
  fmt::print(stderr, "codegen_bench: {}\n", message);
  std::exit(2);
}

template <typename T>
T must(Result<T> result) {
  if (!result.ok()) fail(result.error().to_string());
  return std::move(result).value();
}
void must_do(const Status& status) {
  if (!status.ok()) fail(status.error().to_string());
}

struct Times {
  double optimise, emit, link;
  double total() const { return optimise + emit + link; }
};

Times compile_once(const HostCompiler& compiler, llvm::TargetMachine& machine, Linker& linker,
                   const Input& input) {
  const IrModule ir = compiler.new_module(input.name);
  llvm::SMDiagnostic problem;
  if (llvm::parseAssemblyInto(llvm::MemoryBufferRef(input.text, input.name), ir.module.get(), nullptr,
                              problem)) {
    fail(fmt::format("{}:{}: {}", input.name, problem.getLineNo(), problem.getMessage().str()));
  }
  // A target named in the file could contradict this machine's.
  const double t0 = now_ms();
  compiler.target().constrain(*ir.module, /*traceable=*/false);
  must_do(optimise(*ir.module, machine, input.pipeline));
  const double t1 = now_ms();
  const auto object = must(emit_object(*ir.module, machine, input.pipeline));
  const double t2 = now_ms();
  std::vector<NamedAddress> symbols;
  // Not called here, so any address works.
  for (const llvm::GlobalValue& global : ir.module->global_values()) {
    if (global.isDeclaration()) symbols.push_back({global.getName().str(), &compiler});
  }
  const double t3 = now_ms();
  const auto bytes = std::as_bytes(std::span(object->getBufferStart(), object->getBufferSize()));
  const LoadedCode code = must(linker.load(bytes, symbols));
  return {t1 - t0, t2 - t1, now_ms() - t3};
}

double median_of(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

void measure(const HostCompiler& compiler, const Input& input, const Options& options) {
  const auto machine = must(compiler.target().new_machine());
  const auto linker = must(Linker::create(std::make_unique<SymbolTable>()));
  const double first = compile_once(compiler, *machine, *linker, input).total();
  std::vector<double> optimise, emit, link, total;
  for (int round = 0; round < options.rounds; ++round) {
    const Times times = compile_once(compiler, *machine, *linker, input);
    optimise.push_back(times.optimise);
    emit.push_back(times.emit);
    link.push_back(times.link);
    total.push_back(times.total());
  }
  const bool kernel = input.pipeline == Pipeline::kKernels;
  if (options.json) {
    nlohmann::ordered_json figure{
        {"name", fmt::format("compile {}", input.name)}, {"value", median_of(total)}, {"unit", "ms"}};
    figure["bar"] = kernel ? nlohmann::ordered_json(kBar) : nlohmann::ordered_json();
    fmt::print("{}\n", figure.dump());
    return;
  }
  fmt::print("{:<16} {:<8} {:>8.2f} {:>8.2f} {:>8.2f} {:>8.2f} {:>8.2f}\n", input.name,
             kernel ? "kernel" : "function", median_of(optimise), median_of(emit), median_of(link),
             median_of(total), first);
}

std::string read(const std::string& path) {
  const auto file = llvm::MemoryBuffer::getFile(path);
  if (!file) fail(fmt::format("cannot read '{}': {}", path, file.getError().message()));
  return (*file)->getBuffer().str();
}

int run(std::span<char* const> arguments) {
  Options options;
  std::vector<Input> inputs;
  Pipeline pipeline = Pipeline::kFunctions;
  for (const std::string_view argument : arguments) {
    if (argument == "--json") {
      options.json = true;
    } else if (argument == "--kernels") {
      pipeline = Pipeline::kKernels;
    } else if (argument.starts_with("--rounds=")) {
      options.rounds = std::max(1, std::atoi(argument.substr(9).data()));
    } else if (argument.starts_with("--")) {
      fail(fmt::format("unknown option '{}'; there are --json, --rounds=n and --kernels", argument));
    } else {
      const std::string path(argument);
      inputs.push_back({path.substr(path.rfind('/') + 1), read(path), pipeline});
    }
  }
  if (inputs.empty()) {
    inputs = {{"saxpy", kSaxpy, Pipeline::kKernels},
              {"mandelbrot", kMandelbrot, Pipeline::kKernels},
              {"dot", kDot, Pipeline::kFunctions}};
  }
  const double begin = now_ms();
  const auto compiler = must(HostCompiler::create("native", std::make_unique<SymbolTable>()));
  const double created = now_ms() - begin;
  if (!options.json) {
    fmt::print(
        "target and linker made in {:.2f} ms for {}, vectors of {} bits; times in ms of processor time\n",
        created, compiler->target().cpu(), compiler->target().vector_bits());
    fmt::print("{:<25} {:>8} {:>8} {:>8} {:>8} {:>8}\n", "", "optimise", "emit", "link", "total", "first");
  }
  for (const Input& input : inputs) measure(*compiler, input, options);
  return 0;
}

}  // namespace
}  // namespace dhpvm::codegen

int main(int count, char** arguments) {
  return dhpvm::codegen::run(std::span(arguments + 1, static_cast<std::size_t>(count - 1)));
}
