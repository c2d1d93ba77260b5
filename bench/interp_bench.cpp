// SPDX-License-Identifier: Apache-2.0
// Micro-benchmarks of the interpreter, with programs written instruction by instruction so that they need no
// compiler: what a change to an op body or to the way they are strung together does. Comparisons with other
// languages run compiled programs and live elsewhere.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <memory>
#include <string>

#include "bytecode/builder.h"
#include "vm/invocation.h"
#include "vm/isolate.h"

namespace dhpvm::vm {
namespace {

using bytecode::FunctionBuilder;
using bytecode::Kind;
using bytecode::Label;
using bytecode::ModuleBuilder;
using bytecode::Op;
using bytecode::ValueType;

const ValueType kI32{Kind::kI32};
const ValueType kI64{Kind::kI64};
const ValueType kF64{Kind::kF64};

template <typename T>
T require(Result<T> result) {
  if (!result.ok()) {
    std::fprintf(stderr, "%s\n", result.error().to_string().c_str());
    std::abort();
  }
  return std::move(result).value();
}
void require(const Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.error().to_string().c_str());
  std::abort();
}

std::unique_ptr<Isolate> start(ModuleBuilder builder, const NativeRegistry& natives = {}) {
  auto module = std::make_shared<const bytecode::Module>(std::move(builder).finish());
  return require(Isolate::create(require(LinkedModule::link(module, natives))));
}

// sum = 0; for i in 0..n: sum = sum * 3 + i
void build_sum(ModuleBuilder& m) {
  FunctionBuilder f(m, m.declare_function("sum", {{kI64}, {kI64}}, true));
  f.load_integer(1, 0);
  f.load_integer(2, 0);
  const Label loop = f.new_label();
  f.bind(loop);
  f.emit(Op::kMulImmI64, 1, 1, 3);
  f.emit(Op::kAddI64, 1, 1, 2);
  f.branch(Op::kForI64, 2, 0, loop);
  f.emit(Op::kReturnP, 1);
  require(f.finish());
}

void build_fib(ModuleBuilder& m) {
  const std::uint32_t id = m.declare_function("fib", {{kI32}, {kI32}}, true);
  FunctionBuilder f(m, id);
  const Label recurse = f.new_label();
  f.branch(Op::kJGeImmI32, 0, 2, recurse);
  f.emit(Op::kReturnP, 0);
  f.bind(recurse);
  f.emit(Op::kAddImmI32, 2, 0, static_cast<std::uint16_t>(-1));
  f.emit(Op::kCall, 2, 0, static_cast<std::uint16_t>(id));
  f.emit(Op::kMoveP, 1, 2);
  f.emit(Op::kAddImmI32, 2, 0, static_cast<std::uint16_t>(-2));
  f.emit(Op::kCall, 2, 0, static_cast<std::uint16_t>(id));
  f.emit(Op::kAddI32, 0, 1, 2);
  f.emit(Op::kReturnP, 0);
  require(f.finish());
}

// c[i, j] = sum of a[i, k] * b[k, j], flat arrays, n x n
void build_matmul(ModuleBuilder& m) {
  const ValueType array{Kind::kRef, m.array_type(kF64)};
  FunctionBuilder f(m, m.declare_function("matmul", {{array, array, array, kI64}, {}}, true));
  const Label rows = f.new_label();
  const Label columns = f.new_label();
  const Label inner = f.new_label();
  f.load_integer(1, 0);  // i
  f.bind(rows);
  f.emit(Op::kMulI64, 6, 1, 0);  // i * n
  f.load_integer(2, 0);          // j
  f.bind(columns);
  f.load_f64(4, 0);
  f.load_integer(3, 0);  // k
  f.emit(Op::kMoveP, 7, 6);
  f.emit(Op::kMoveP, 8, 2);
  f.bind(inner);
  f.emit(Op::kLoadF64, 5, 0, 7);
  f.emit(Op::kLoadF64, 9, 1, 8);
  f.emit(Op::kMulF64, 5, 5, 9);
  f.emit(Op::kAddF64, 4, 4, 5);
  f.emit(Op::kAddImmI64, 7, 7, 1);
  f.emit(Op::kAddI64, 8, 8, 0);
  f.branch(Op::kForI64, 3, 0, inner);
  f.emit(Op::kAddI64, 10, 6, 2);
  f.emit(Op::kStoreF64, 2, 10, 4);
  f.branch(Op::kForI64, 2, 0, columns);
  f.branch(Op::kForI64, 1, 0, rows);
  f.emit(Op::kReturn);
  require(f.finish());
}

// Counts the points of an n x n grid that stay bounded for 50 iterations.
void build_mandelbrot(ModuleBuilder& m) {
  FunctionBuilder f(m, m.declare_function("mandelbrot", {{kI64}, {kI64}}, true));
  const Label rows = f.new_label();
  const Label columns = f.new_label();
  const Label iterate = f.new_label();
  const Label outside = f.new_label();
  f.load_integer(1, 0);  // y
  f.load_integer(3, 0);  // count
  f.emit(Op::kI64ToF64, 4, 0);
  f.load_f64(5, 2.0);
  f.load_f64(6, 4.0);
  f.load_f64(7, 1.5);
  f.load_f64(8, 1.0);
  f.load_integer(9, 50);
  f.bind(rows);
  f.load_integer(2, 0);  // x
  f.bind(columns);
  f.emit(Op::kI64ToF64, 10, 2);
  f.emit(Op::kMulF64, 10, 10, 5);
  f.emit(Op::kDivF64, 10, 10, 4);
  f.emit(Op::kSubF64, 10, 10, 7);  // cr
  f.emit(Op::kI64ToF64, 11, 1);
  f.emit(Op::kMulF64, 11, 11, 5);
  f.emit(Op::kDivF64, 11, 11, 4);
  f.emit(Op::kSubF64, 11, 11, 8);  // ci
  f.load_f64(12, 0.0);
  f.load_f64(13, 0.0);
  f.load_integer(14, 0);
  f.bind(iterate);
  f.emit(Op::kMulF64, 15, 12, 12);
  f.emit(Op::kMulF64, 16, 13, 13);
  f.emit(Op::kAddF64, 17, 15, 16);
  f.branch(Op::kJLtF64, 6, 17, outside);
  f.emit(Op::kMulF64, 13, 12, 13);
  f.emit(Op::kAddF64, 13, 13, 13);
  f.emit(Op::kAddF64, 13, 13, 11);
  f.emit(Op::kSubF64, 12, 15, 16);
  f.emit(Op::kAddF64, 12, 12, 10);
  f.branch(Op::kForI64, 14, 9, iterate);
  f.emit(Op::kAddImmI64, 3, 3, 1);
  f.bind(outside);
  f.branch(Op::kForI64, 2, 0, columns);
  f.branch(Op::kForI64, 1, 0, rows);
  f.emit(Op::kReturnP, 3);
  require(f.finish());
}

// Node make(depth): a complete binary tree.   i64 count(node)
void build_trees(ModuleBuilder& m) {
  const std::uint32_t node = m.declare_class("Node");
  const ValueType ref{Kind::kRef, node};
  m.define_fields(node, {{"left", ref, 0}, {"right", ref, 0}});
  const auto left = static_cast<std::uint16_t>(m.type(node).fields[0].offset);
  const auto right = static_cast<std::uint16_t>(m.type(node).fields[1].offset);
  const std::uint32_t make = m.declare_function("make", {{kI32}, {ref}}, true);
  FunctionBuilder f(m, make);
  const Label leaf = f.new_label();
  f.emit(Op::kNew, 0, 0, 0, node);
  f.branch(Op::kJEqImmI32, 0, 0, leaf);
  f.emit(Op::kAddImmI32, 1, 0, static_cast<std::uint16_t>(-1));
  f.emit(Op::kCall, 1, 1, static_cast<std::uint16_t>(make));
  f.emit(Op::kPutFieldRef, 0, left, 1);
  f.emit(Op::kAddImmI32, 1, 0, static_cast<std::uint16_t>(-1));
  f.emit(Op::kCall, 1, 1, static_cast<std::uint16_t>(make));
  f.emit(Op::kPutFieldRef, 0, right, 1);
  f.bind(leaf);
  f.emit(Op::kReturnR, 0);
  require(f.finish());

  const std::uint32_t count = m.declare_function("count", {{ref}, {kI64}}, true);
  FunctionBuilder g(m, count);
  const Label inner = g.new_label();
  g.emit(Op::kGetFieldRef, 1, 0, left);
  g.branch(Op::kJumpNonNull, 1, inner);
  g.load_integer(0, 1);
  g.emit(Op::kReturnP, 0);
  g.bind(inner);
  g.emit(Op::kCall, 1, 1, static_cast<std::uint16_t>(count));
  g.emit(Op::kMoveP, 0, 1);
  g.emit(Op::kGetFieldRef, 1, 0, right);
  g.emit(Op::kCall, 1, 1, static_cast<std::uint16_t>(count));
  g.emit(Op::kAddI64, 0, 0, 1);
  g.emit(Op::kAddImmI64, 0, 0, 1);
  g.emit(Op::kReturnP, 0);
  require(g.finish());

  FunctionBuilder h(m, m.declare_function("trees", {{kI32}, {kI64}}, true));
  h.emit(Op::kCall, 0, 0, static_cast<std::uint16_t>(make));
  h.emit(Op::kCall, 0, 0, static_cast<std::uint16_t>(count));
  h.emit(Op::kReturnP, 0);
  require(h.finish());
}

// y[i] = a * x[i] + y[i], and dot(x, y), as parallel loops.
void build_kernels(ModuleBuilder& m) {
  const ValueType array{Kind::kRef, m.array_type(kF64)};
  const std::uint32_t body = m.declare_function("saxpy.body", {{kI64, kF64, array, array}, {}});
  FunctionBuilder f(m, body);
  f.emit(Op::kLoadF64, 2, 0, 0);
  f.emit(Op::kMulF64, 2, 2, 1);
  f.emit(Op::kLoadF64, 3, 1, 0);
  f.emit(Op::kAddF64, 2, 2, 3);
  f.emit(Op::kStoreF64, 1, 0, 2);
  f.emit(Op::kReturn);
  require(f.finish());
  const std::uint32_t saxpy =
      m.add_kernel({.function = body, .reductions = {}, .device_hint = {}, .source = {}});
  FunctionBuilder g(m, m.declare_function("saxpy", {{kI64, kI64, kF64, array, array}, {}}, true));
  g.emit(Op::kParallelFor, 0, 0, static_cast<std::uint16_t>(saxpy));
  g.emit(Op::kReturn);
  require(g.finish());

  const std::uint32_t term = m.declare_function("dot.body", {{kI64, kF64, array, array}, {kF64}});
  FunctionBuilder t(m, term);
  t.emit(Op::kLoadF64, 2, 0, 0);
  t.emit(Op::kLoadF64, 3, 1, 0);
  t.emit(Op::kMulF64, 2, 2, 3);
  t.emit(Op::kAddF64, 0, 1, 2);
  t.emit(Op::kReturn);
  require(t.finish());
  const std::uint32_t dot = m.add_kernel({.function = term,
                                          .reductions = {{bytecode::ReductionOp::kAdd, Kind::kF64}},
                                          .device_hint = {},
                                          .source = {}});
  FunctionBuilder d(m, m.declare_function("dot", {{kI64, kI64, kF64, array, array}, {kF64}}, true));
  d.emit(Op::kParallelFor, 0, 0, static_cast<std::uint16_t>(dot));
  d.emit(Op::kReturn);
  require(d.finish());
}

template <void (*build)(ModuleBuilder&)>
void run_simple(benchmark::State& state, const char* name) {
  ModuleBuilder builder;
  build(builder);
  const auto isolate = start(std::move(builder));
  const std::uint32_t function = *isolate->find_export(name);
  std::uint64_t p[1];
  for (auto _ : state) {
    p[0] = static_cast<std::uint64_t>(state.range(0));
    require(isolate->call(function, p, {}));
  }
  benchmark::DoNotOptimize(p[0]);
}

void sum(benchmark::State& state) { run_simple<build_sum>(state, "sum"); }
void fib(benchmark::State& state) { run_simple<build_fib>(state, "fib"); }
void mandelbrot(benchmark::State& state) { run_simple<build_mandelbrot>(state, "mandelbrot"); }
void trees(benchmark::State& state) { run_simple<build_trees>(state, "trees"); }
BENCHMARK(sum)->Arg(10'000'000)->Unit(benchmark::kMillisecond);
BENCHMARK(fib)->Arg(30)->Unit(benchmark::kMillisecond);
BENCHMARK(mandelbrot)->Arg(400)->Unit(benchmark::kMillisecond);
BENCHMARK(trees)->Arg(16)->Unit(benchmark::kMillisecond);

void matmul(benchmark::State& state) {
  ModuleBuilder builder;
  build_matmul(builder);
  const auto isolate = start(std::move(builder));
  const std::int64_t n = state.range(0);
  const gc::TypeId type = *isolate->linked().find_array_type(kF64);
  gc::Root<gc::Array> arrays[3] = {gc::Root<gc::Array>(isolate->heap()), gc::Root<gc::Array>(isolate->heap()),
                                   gc::Root<gc::Array>(isolate->heap())};
  for (auto& array : arrays) array.set(require(isolate->new_array(type, n * n)));
  const std::uint32_t function = *isolate->find_export("matmul");
  for (auto _ : state) {
    Invocation call(*isolate, function);
    for (int i = 0; i < 3; ++i) call.r()[i] = reinterpret_cast<gc::Ref>(arrays[i].get());
    call.p()[0] = static_cast<std::uint64_t>(n);
    require(call.run());
  }
}
BENCHMARK(matmul)->Arg(200)->Unit(benchmark::kMillisecond);

void kernel(benchmark::State& state, const char* name) {
  ModuleBuilder builder;
  build_kernels(builder);
  const auto isolate = start(std::move(builder));
  const std::int64_t n = state.range(0);
  const gc::TypeId type = *isolate->linked().find_array_type(kF64);
  const gc::Root<gc::Array> x(isolate->heap(), require(isolate->new_array(type, n)));
  const gc::Root<gc::Array> y(isolate->heap(), require(isolate->new_array(type, n)));
  const std::uint32_t function = *isolate->find_export(name);
  for (auto _ : state) {
    Invocation call(*isolate, function);
    call.p()[0] = 0;
    call.p()[1] = static_cast<std::uint64_t>(n);
    call.p()[2] = 0;
    call.r()[0] = reinterpret_cast<gc::Ref>(x.get());
    call.r()[1] = reinterpret_cast<gc::Ref>(y.get());
    require(call.run());
  }
  state.SetItemsProcessed(state.iterations() * n);
}
void saxpy(benchmark::State& state) { kernel(state, "saxpy"); }
void dot(benchmark::State& state) { kernel(state, "dot"); }
BENCHMARK(saxpy)->Arg(1'000'000)->Unit(benchmark::kMillisecond);
BENCHMARK(dot)->Arg(1'000'000)->Unit(benchmark::kMillisecond);

void call_empty_function(benchmark::State& state) {
  ModuleBuilder builder;
  FunctionBuilder f(builder, builder.declare_function("empty", {}, true));
  f.emit(Op::kReturn);
  require(f.finish());
  const auto isolate = start(std::move(builder));
  const std::uint32_t function = *isolate->find_export("empty");
  for (auto _ : state) {
    Invocation call(*isolate, function);
    require(call.run());
  }
}
BENCHMARK(call_empty_function);

// Each iteration calls a native a thousand times.
void call_native_thousand(benchmark::State& state) {
  ModuleBuilder builder;
  const std::uint32_t import = builder.import_function("add", {{kI64, kI64}, {kI64}});
  FunctionBuilder f(builder, builder.declare_function("run", {{kI64}, {kI64}}, true));
  f.load_integer(1, 0);
  f.load_integer(2, 0);
  const Label loop = f.new_label();
  f.bind(loop);
  f.emit(Op::kMoveP, 3, 1);
  f.emit(Op::kMoveP, 4, 2);
  f.emit(Op::kCallNative, 3, 0, static_cast<std::uint16_t>(import));
  f.emit(Op::kMoveP, 1, 3);
  f.branch(Op::kForI64, 2, 0, loop);
  f.emit(Op::kReturnP, 1);
  require(f.finish());
  NativeRegistry natives;
  require(natives.define("add", "(i64, i64) -> i64", [](NativeCall& call) -> Status {
    call.p[0] += call.p[1];
    return {};
  }));
  const auto isolate = start(std::move(builder), natives);
  const std::uint32_t function = *isolate->find_export("run");
  std::uint64_t p[1];
  for (auto _ : state) {
    p[0] = 1000;
    require(isolate->call(function, p, {}));
  }
  state.SetItemsProcessed(state.iterations() * 1000);
}
BENCHMARK(call_native_thousand);

}  // namespace
}  // namespace dhpvm::vm

BENCHMARK_MAIN();
