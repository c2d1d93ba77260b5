// SPDX-License-Identifier: Apache-2.0
// The speed of reading and verifying a module file: MB of file per second of processor time (one thread; other
// work of the machine should not count), median of several rounds.
//   verify_bench [--json] [--size=MiB] [--rounds=n]
// The module is generated: thousands of functions of the kind a compiler emits, with nested loops, calls,
// arrays, fields, strings, interfaces and line tables.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string_view>
#include <vector>

#include "bench/figures.h"
#include "bench/json_line.h"
#include "bytecode/builder.h"
#include "bytecode/reader.h"
#include "bytecode/verifier.h"
#include "bytecode/writer.h"

namespace dhpvm::bytecode {
namespace {

constexpr double kBar = 100;  // MB/s

struct Types {
  std::uint32_t node, shape, circle, floats, nodes, names;
};

std::uint16_t u16(std::uint32_t value) { return static_cast<std::uint16_t>(value); }

Types declare_types(ModuleBuilder& m) {
  Types t{};
  const ValueType i64{Kind::kI64, kNoIndex};
  t.node = m.declare_class("Node");
  m.define_fields(t.node, {{"left", {Kind::kRef, t.node}},
                           {"right", {Kind::kRef, t.node}},
                           {"name", {Kind::kRef, kStringType}},
                           {"key", i64},
                           {"weight", {Kind::kF64, kNoIndex}},
                           {"red", {Kind::kBool, kNoIndex}}});
  t.shape = m.declare_interface("Shape");
  m.define_methods(t.shape, {{"area", {{i64}, {i64}}}});
  t.circle = m.declare_class("Circle");
  m.define_fields(t.circle, {{"radius", i64}});
  const std::uint32_t area = m.declare_function("Circle.area", {{{Kind::kRef, t.circle}, i64}, {i64}});
  m.implement(t.circle, {t.shape, {area}});
  FunctionBuilder f(m, area);
  f.emit(Op::kGetFieldI64, 1, 0, u16(m.type(t.circle).fields[0].offset));
  f.emit(Op::kMulI64, 1, 1, 0);
  f.emit(Op::kReturnP, 1);
  if (!f.finish().ok()) std::abort();
  t.floats = m.array_type({Kind::kF64, kNoIndex});
  t.nodes = m.array_type({Kind::kRef, t.node});
  t.names = m.array_type({Kind::kRef, kStringType});
  return t;
}

// fn work(xs: [f64], nodes: [Node], n: i64, seed: i64) -> i64, about 150 words. `other` is called inside.
void emit_work(ModuleBuilder& m, const Types& t, std::uint32_t id, std::uint32_t other, std::uint32_t file) {
  const auto offset = [&](std::uint32_t field) { return u16(m.type(t.node).fields[field].offset); };
  FunctionBuilder f(m, id);
  std::uint32_t line = id * 40;
  const auto mark = [&](std::uint32_t column) { f.mark_line(file, ++line, column); };
  constexpr std::uint16_t kXs = 0, kNodes = 1, kN = 0, kSeed = 1;
  enum : std::uint16_t { kI = 2, kJ, kSum, kFloat, kT0, kT1, kT2, kWindow = 10 };
  enum : std::uint16_t { kBest = 2, kNode, kText, kShape, kRefWindow = 8 };
  mark(5);
  f.load_integer(kSum, 0);
  f.emit(Op::kNull, kBest);
  f.load_integer(kI, 0);
  const Label outer_end = f.new_label();
  const Label outer = f.new_label();
  f.branch(Op::kJLeI64, kN, kI, outer_end);
  f.bind(outer);
  mark(9);
  f.load_integer(kJ, 0);
  f.load_f64(kFloat, 1.5);
  const Label inner = f.new_label();
  const Label inner_end = f.new_label();
  f.branch(Op::kJLeI64, kN, kJ, inner_end);
  f.bind(inner);
  mark(13);
  f.emit(Op::kLoadF64, kT0, kXs, kJ);
  f.emit(Op::kMulF64, kT1, kT0, kFloat);
  f.emit(Op::kAddF64, kFloat, kFloat, kT1);
  const Label no_store = f.new_label();
  f.branch(Op::kJNltF64, kT0, kFloat, no_store);
  mark(17);
  f.emit(Op::kStoreF64, kXs, kJ, kFloat);
  f.bind(no_store);
  for (int k = 0; k < 6; ++k) {
    mark(13);
    f.emit(Op::kAddI64, kT2, kI, kJ);
    f.emit(Op::kMulImmI64, kT2, kT2, 31);
    f.emit(Op::kXorI64, kSum, kSum, kT2);
    const Label skip = f.new_label();
    f.branch(Op::kJNeImmI64, kT2, u16(static_cast<std::uint32_t>(k)), skip);
    f.emit(Op::kShlImmI64, kSum, kSum, 1);
    f.bind(skip);
  }
  mark(9);
  f.branch(Op::kForI64, kJ, kN, inner);
  f.bind(inner_end);
  mark(9);
  f.emit(Op::kLoadRef, kNode, kNodes, kI);
  const Label missing = f.new_label();
  const Label next = f.new_label();
  f.branch(Op::kJumpNull, kNode, missing);
  mark(13);
  f.emit(Op::kGetFieldI64, kT0, kNode, offset(3));
  f.emit(Op::kGetFieldU8, kT1, kNode, offset(5));
  f.branch(Op::kJumpIf, kT1, next);
  f.emit(Op::kGetFieldRef, kBest, kNode, offset(0));
  f.emit(Op::kPutFieldRef, kNode, offset(1), kBest);
  f.emit(Op::kAddI64, kSum, kSum, kT0);
  mark(17);
  f.emit(Op::kMoveP, kWindow, kN);
  f.emit(Op::kMoveP, kWindow + 1, kSum);
  f.emit(Op::kMoveR, kRefWindow, kXs);
  f.emit(Op::kMoveR, kRefWindow + 1, kNodes);
  f.emit(Op::kCall, kWindow, kRefWindow, u16(other));
  f.emit(Op::kSubI64, kSum, kSum, kWindow);
  f.jump(next);
  f.bind(missing);
  mark(13);
  f.emit(Op::kNew, kNode, 0, 0, t.node);
  f.emit(Op::kPutFieldI64, kNode, offset(3), kI);
  f.emit32(Op::kConstString, kText, m.string("node"));
  f.emit(Op::kPutFieldRef, kNode, offset(2), kText);
  f.emit(Op::kStoreRef, kNodes, kI, kNode);
  f.emit(Op::kNew, kShape, 0, 0, t.circle);
  f.emit(Op::kUpcast, kRefWindow, kShape, 0, t.shape);
  f.emit(Op::kMoveP, kWindow, kSeed);
  f.emit(Op::kCallInterface, kWindow, kRefWindow, 0, t.shape);
  f.emit(Op::kAddI64, kSum, kSum, kWindow);
  f.bind(next);
  mark(9);
  f.emit(Op::kArrayLength, kT0, kXs);
  f.emit(Op::kRemI64, kT0, kSum, kT0);
  f.branch(Op::kForI64, kI, kN, outer);
  f.bind(outer_end);
  mark(5);
  f.emit(Op::kReturnP, kSum);
  if (!f.finish().ok()) std::abort();
}

std::vector<std::byte> generate(std::size_t bytes) {
  ModuleBuilder m;
  const Types t = declare_types(m);
  const std::uint32_t file = m.string("generated.dhp");
  const ValueType i64{Kind::kI64, kNoIndex};
  const Signature signature{{{Kind::kRef, t.floats}, {Kind::kRef, t.nodes}, i64, i64}, {i64}};
  constexpr std::size_t kBytesPerFunction = 700;  // measured; the loop ends by the actual size
  for (std::size_t i = 0; i < bytes / kBytesPerFunction + 1; ++i) {
    const std::uint32_t id = m.declare_function(fmt::format("work{}", i), signature);
    emit_work(m, t, id, i == 0 ? id : id - 1, file);
  }
  return write_module(std::move(m).finish());
}

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

int run_tool(int argc, char** argv) {
  bool json = false;
  std::size_t mebibytes = 8;
  int rounds = 11;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--json") {
      json = true;
    } else if (argument.starts_with("--size=")) {
      mebibytes = std::strtoul(argv[i] + 7, nullptr, 10);
    } else if (argument.starts_with("--rounds=")) {
      rounds = std::max(1, std::atoi(argv[i] + 9));
    } else {
      std::fprintf(stderr, "usage: verify_bench [--json] [--size=MiB] [--rounds=n]\n");
      return 2;
    }
  }
  const std::vector<std::byte> file = generate(mebibytes << 20);
  const double megabytes = static_cast<double>(file.size()) / 1e6;
  std::vector<double> read_rates, verify_rates, both_rates;
  std::size_t functions = 0;
  for (int round = -1; round < rounds; ++round) {  // the first one warms up
    const double start = processor_seconds();
    const Result<Module> module = read_module(file);
    const double read = processor_seconds();
    const Status status = module.ok() ? verify(*module) : Status(module.error());
    const double end = processor_seconds();
    if (!status.ok()) {
      std::fprintf(stderr, "%s\n", status.error().to_string().c_str());
      return 1;
    }
    functions = module->functions.size();
    if (round < 0) continue;
    read_rates.push_back(megabytes / (read - start));
    verify_rates.push_back(megabytes / (end - read));
    both_rates.push_back(megabytes / (end - start));
  }
  if (json) {
    print_json_line({{"name", "verify/read"}, {"value", median(read_rates)}, {"unit", "MB/s"}});
    print_json_line({{"name", "verify/verify"}, {"value", median(verify_rates)}, {"unit", "MB/s"}});
    print_json_line(
        {{"name", "verify/read+verify"}, {"value", median(both_rates)}, {"unit", "MB/s"}, {"bar", kBar}});
  } else {
    std::printf("module file: %.2f MB, %zu functions; medians of %d rounds\n", megabytes, functions, rounds);
    std::printf("read          %8.1f MB/s\nverify        %8.1f MB/s\nread + verify %8.1f MB/s (bar: %.0f)\n",
                median(read_rates), median(verify_rates), median(both_rates), kBar);
  }
  return 0;
}

}  // namespace
}  // namespace dhpvm::bytecode

int main(int argc, char** argv) { return dhpvm::bytecode::run_tool(argc, argv); }
