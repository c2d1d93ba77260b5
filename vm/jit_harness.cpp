// SPDX-License-Identifier: Apache-2.0
#include "vm/jit_harness.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "bytecode/disassembler.h"
#include "bytecode/generator.h"
#include "bytecode/verifier.h"
#include "vm/invocation.h"
#include "vm/isolate.h"
#include "vm/memory_text.h"

namespace dhpvm::vm {
namespace {

using bytecode::Kind;
using bytecode::kNoIndex;
using bytecode::Module;
using bytecode::TypeKind;
using bytecode::ValueType;

// The settings that an input's first bytes choose; the rest steers the generator.
struct Plan {
  std::uint32_t gc_stress = 0;
  std::uint32_t sample_interval = 1;
  std::size_t stack_bytes = std::size_t{1} << 20;
  bool limited_fuel = false;
  std::uint64_t fuel = 20'000;
  std::uint64_t seed = 0;  // of arguments
  bytecode::testing::GeneratorOptions generator;
};

constexpr std::size_t kPlanBytes = 5;

ValueType primitive(Kind kind) { return {kind, kNoIndex}; }
ValueType string_type() { return {Kind::kRef, bytecode::kStringType}; }

Plan plan_of(std::span<const std::byte> input) {
  std::array<std::uint32_t, kPlanBytes> bytes{};
  for (std::size_t n = 0; n < std::min(bytes.size(), input.size()); ++n)
    bytes[n] = static_cast<std::uint32_t>(input[n]);
  Plan plan;
  if (bytes[0] % 4 == 0) plan.gc_stress = 1 + bytes[0] / 4 % 8;
  plan.limited_fuel = bytes[0] / 32 % 2 == 0;
  constexpr std::uint32_t kIntervals[] = {1, 2, 3, 5, 8, 64, 1024, 1};
  plan.sample_interval = kIntervals[bytes[1] % 8];
  if (bytes[1] / 8 % 8 == 0) plan.stack_bytes = 4096;
  plan.seed = bytes[2];
  plan.generator.statements = 4 + bytes[3] % 16;
  plan.generator.functions = 1 + bytes[3] / 16 % 2;
  plan.generator.kernels = 1 + bytes[4] % 2;
  plan.generator.small = bytes[4] / 2 % 4 != 0;  // the other ones have several classes behind an interface
  plan.generator.large_loops = true;
  plan.generator.imports = {{"host.mix", {{primitive(Kind::kI64), string_type()}, {primitive(Kind::kI64)}}},
                            {"host.call", {{primitive(Kind::kI64)}, {primitive(Kind::kI64)}}},
                            {"host.collect", {{}, {}}}};
  // Runs with few collections may take longer.
  if (plan.gc_stress != 0) plan.fuel = 2'000;
  return plan;
}

class Numbers {
 public:
  explicit Numbers(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15 + 1) {}
  std::uint64_t bits() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_;
  }
  // As it stands in a register.
  std::uint64_t value(Kind kind) {
    const std::uint64_t number = bits() % 3 == 0 ? special(kind) : bits() >> bits() % 64;
    switch (kind) {
      case Kind::kBool: return number & 1;
      case Kind::kI8: return static_cast<std::uint32_t>(static_cast<std::int8_t>(number));
      case Kind::kU8: return static_cast<std::uint8_t>(number);
      case Kind::kI16: return static_cast<std::uint32_t>(static_cast<std::int16_t>(number));
      case Kind::kU16: return static_cast<std::uint16_t>(number);
      case Kind::kI32:
      case Kind::kU32: return static_cast<std::uint32_t>(number);
      case Kind::kF32: {
        const auto bits32 = static_cast<std::uint32_t>(number);
        return std::isnan(std::bit_cast<float>(bits32)) ? 0x3fc00000 : bits32;
      }
      case Kind::kF64: return std::isnan(std::bit_cast<double>(number)) ? 0 : number;
      default: return number;
    }
  }

 private:
  std::uint64_t special(Kind kind) {
    constexpr float kFloats[] = {
        0.0f,           -0.0f,         1.0f,   std::numeric_limits<float>::infinity(),
        -2147483648.0f, 4294967296.0f, 1e-42f, -0.5f};
    constexpr double kDoubles[] = {0.0,
                                   -0.0,
                                   1.0,
                                   std::numeric_limits<double>::infinity(),
                                   -9223372036854775808.0,
                                   18446744073709551616.0,
                                   5e-324,
                                   2.5};
    constexpr std::uint64_t kIntegers[] = {
        0, 1, ~std::uint64_t{0}, 0x80000000, 0x7fffffff, std::uint64_t{1} << 63, ~(std::uint64_t{1} << 63),
        64};
    const std::uint64_t which = bits() % 8;
    if (kind == Kind::kF32) return std::bit_cast<std::uint32_t>(kFloats[which]);
    if (kind == Kind::kF64) return std::bit_cast<std::uint64_t>(kDoubles[which]);
    return kIntegers[which];
  }

  std::uint64_t state_;
};

// Arguments: the same ones for the same seed, in any isolate.
class Arguments {
 public:
  Arguments(Isolate& isolate, std::uint64_t seed) : isolate_(isolate), numbers_(seed) {}

  void place(Invocation& call, const bytecode::Signature& signature) {
    std::size_t p = 0;
    std::size_t r = 0;
    for (const ValueType& parameter : signature.parameters) {
      if (parameter.is_ref()) {
        make(call.r()[r++], parameter.type, 2);
      } else {
        call.p()[p++] = numbers_.value(parameter.kind);
      }
    }
  }

 private:
  // `place` is a root, or will be reachable from one as soon as it is set.
  void make(gc::Ref& place, std::uint32_t type_id, int depth) {
    const Module& module = isolate_.module();
    const bytecode::Type& type = module.types[type_id];
    if (numbers_.bits() % 10 == 0) return;
    switch (type.kind) {
      case TypeKind::kString: {
        auto made = isolate_.new_string(numbers_.bits() % 2 == 0 ? "" : "some text");
        if (made.ok()) place = reinterpret_cast<gc::Ref>(*made);
        return;
      }
      case TypeKind::kClass: return make_object(place, type_id, depth);
      case TypeKind::kInterface:
        for (std::uint32_t id = 0; id < module.types.size(); ++id) {
          const auto& implementations = module.types[id].implementations;
          if (implementations.empty() || implementations[0].interface != type_id) continue;
          if (numbers_.bits() % 2 == 0) return make_object(place, id, depth);
        }
        return;
      case TypeKind::kArray: return make_array(place, type_id);
      default: return;  // weak references: null
    }
  }

  void make_object(gc::Ref& place, std::uint32_t type_id, int depth) {
    auto made = isolate_.new_object(type_id);
    if (!made.ok()) return;
    gc::Object* const object = *made;
    place = object;
    for (const bytecode::Field& field : isolate_.module().types[type_id].fields) {
      auto* const address = reinterpret_cast<std::byte*>(object) + field.offset;
      if (!field.type.is_ref()) {
        const std::uint64_t value = numbers_.value(field.type.kind);
        std::memcpy(address, &value, bytecode::size_of(field.type.kind));
      } else if (depth > 0) {
        gc::Root<gc::Object> child(isolate_.heap());
        gc::Ref made_child = nullptr;
        make_child(made_child, child, field.type.type, depth - 1);
        *reinterpret_cast<gc::Ref*>(address) = made_child;
        isolate_.heap().write_barrier(object);
      }
    }
  }

  // The child is reachable from nothing while its own children are made: `root` keeps it.
  void make_child(gc::Ref& place, gc::Root<gc::Object>& root, std::uint32_t type_id, int depth) {
    if (isolate_.module().types[type_id].kind == TypeKind::kClass) {
      if (depth > 0 || numbers_.bits() % 4 == 0) return;
      auto made = isolate_.new_object(type_id);
      if (made.ok()) place = *made;
    } else {
      make(place, type_id, 0);
    }
    root.set(place);
  }

  void make_array(gc::Ref& place, std::uint32_t type_id) {
    const bytecode::Type& type = isolate_.module().types[type_id];
    std::int64_t sizes[3];
    for (unsigned d = 0; d < type.rank; ++d)
      sizes[d] = static_cast<std::int64_t>((type.rank == 1 ? 8 : 4) + numbers_.bits() % 6);
    auto made = isolate_.new_array(type_id, {sizes, type.rank});
    if (!made.ok()) return;
    place = reinterpret_cast<gc::Ref>(*made);
    if (type.element.is_ref()) return;
    const std::size_t size = bytecode::size_of(type.element.kind);
    for (std::int64_t n = 0; n < (*made)->length; ++n) {
      const std::uint64_t value = numbers_.value(type.element.kind);
      std::memcpy((*made)->data + static_cast<std::size_t>(n) * size, &value, size);
    }
  }

  Isolate& isolate_;
  Numbers numbers_;
};

// The outcome of one call.
struct Outcome {
  std::string trap;    // with message and stack trace
  std::string memory;  // results, and what can be reached
  std::uint64_t fuel = 0;
  bool out_of_fuel = false;
  bool in_parallel_loop = false;  // then memory depends on timing
};

Status mix(NativeCall& call) {
  const auto& text = *reinterpret_cast<const gc::String*>(call.r[0]);
  if (call.p[0] % 61 == 7) return Error(ErrorCode::kIo, "the native function fails");
  call.p[0] = call.p[0] * 31 + text.size;
  return {};
}
// For half of the cases that do not fail.
bool mix_at_once(NativeCall& call) {
  if (call.r[0] == nullptr || call.p[0] % 61 == 7 || call.p[0] % 2 == 0) return false;
  call.p[0] = call.p[0] * 31 + reinterpret_cast<const gc::String*>(call.r[0])->size;
  return true;
}

// Calls back into the program, not too deep.
Status call_back(NativeCall& call, const std::shared_ptr<int>& depth) {
  const std::optional<std::uint32_t> function = call.isolate.find_export("f0");
  if (*depth >= 2 || !function) return {};
  ++*depth;
  std::uint64_t p[2] = {call.p[0] % 100, std::bit_cast<std::uint64_t>(0.5)};
  gc::Ref r[1] = {nullptr};
  Status status = call.isolate.call(*function, p, r);
  --*depth;
  call.p[0] = p[0];
  return status;
}

NativeRegistry make_natives() {
  NativeRegistry natives;
  const auto depth = std::make_shared<int>(0);
  static_cast<void>(natives.define("host.mix", "(i64, str) -> i64", mix, mix_at_once));
  static_cast<void>(natives.define("host.call", "(i64) -> i64",
                                   [depth](NativeCall& call) { return call_back(call, depth); }));
  static_cast<void>(natives.define("host.collect", "()", [](NativeCall& call) {
    call.isolate.heap().collect(gc::CollectionKind::kMinor);
    return Status();
  }));
  return natives;
}

Outcome call_function(Isolate& isolate, std::uint32_t function, std::uint64_t seed, std::uint64_t fuel) {
  Outcome outcome;
  isolate.set_fuel(Limits::kUnlimitedFuel);
  Invocation call(isolate, function);
  if (!call.ok()) {
    outcome.trap = "no room for the call";
    return outcome;
  }
  const bytecode::Signature& signature = isolate.module().functions[function].signature;
  Arguments(isolate, seed).place(call, signature);
  std::vector<gc::Root<gc::Object>> kept;
  std::size_t references = 0;
  for (const ValueType& parameter : signature.parameters) {
    if (parameter.is_ref()) kept.emplace_back(isolate.heap(), call.r()[references++]);
  }
  isolate.set_fuel(fuel);
  const std::uint64_t before = isolate.stats().fuel_used;
  const Status status = call.run();
  outcome.fuel = isolate.stats().fuel_used - before;
  MemoryText text(isolate);
  if (!status.ok()) {
    outcome.trap = status.error().to_string();
    outcome.out_of_fuel = status.error().code() == ErrorCode::kOutOfFuel;
    outcome.in_parallel_loop = outcome.trap.find("of the parallel loop") != std::string::npos;
  } else {
    std::size_t p = 0;
    std::size_t r = 0;
    for (const ValueType& result : signature.results) {
      if (result.is_ref()) {
        text.add_reference(call.r()[r++]);
      } else {
        text.add_value(call.p()[p++], result.kind);
      }
    }
  }
  for (const gc::Root<gc::Object>& argument : kept) text.add_reference(argument.get());
  outcome.memory = std::move(text).finish();
  return outcome;
}

struct Executor {
  const char* name;
  JitMode mode;
  std::uint32_t threshold;
  bool continues;  // samples are taken often
  std::size_t pool;
};

constexpr std::uint32_t kNever = std::numeric_limits<std::uint32_t>::max();
constexpr Executor kExecutors[] = {
    {"compiled before the start, 1 thread", JitMode::kEager, kNever, false, 0},
    {"compiled while running, 2 threads", JitMode::kOn, 1, true, 1},
    {"interpreted, with loops on 7 threads", JitMode::kOn, kNever, false, 2},
    {"interpreted, with baseline code of loops on 2 threads", JitMode::kBaseline, kNever, false, 1},
};

codegen::GeneratorOptions without_cache() {
  codegen::GeneratorOptions options;
  options.cache = false;
  return options;
}

std::string difference(const Outcome& expected, const Outcome& found, bool fuel_counts) {
  if (expected.trap != found.trap)
    return fmt::format("traps differ:\n--- interpreter\n{}\n--- native\n{}\n", expected.trap, found.trap);
  if (fuel_counts && expected.fuel != found.fuel)
    return fmt::format("fuel differs: {} in the interpreter, {} native ({})", expected.fuel, found.fuel,
                       expected.trap);
  if (!expected.in_parallel_loop && expected.memory != found.memory)
    return fmt::format("results or memory differ:\n--- interpreter\n{}\n--- native\n{}\n", expected.memory,
                       found.memory);
  return {};
}

}  // namespace

JitHarness::JitHarness(std::string library)
    : service_(std::make_shared<CompileService>(without_cache(), std::move(library))),
      pools_{std::make_shared<ThreadPool>(1), std::make_shared<ThreadPool>(2),
             std::make_shared<ThreadPool>(7)},
      alarm_(std::make_shared<Alarm>()) {}

std::string JitHarness::unavailable() {
  const auto generator = service_->generator();
  return generator.ok() ? std::string() : generator.error().message();
}

std::string JitHarness::compare(std::span<const std::byte> input) {
  const Plan plan = plan_of(input);
  const auto module = std::make_shared<const Module>(
      bytecode::testing::generate_module(input.subspan(std::min(input.size(), kPlanBytes)), plan.generator));
  if (const Status status = bytecode::verify(*module); !status.ok()) return status.error().to_string();
  const auto linked = LinkedModule::link(module, make_natives());
  if (!linked.ok()) return linked.error().to_string();

  IsolateOptions options;
  options.limits.stack_bytes = plan.stack_bytes;
  options.limits.heap_bytes = std::size_t{256} << 20;
  options.jit.mode = JitMode::kOff;
  auto interpreter = Isolate::create(*linked, options);
  if (!interpreter.ok()) return interpreter.error().to_string();
  // Two rounds, so that code compiled in the first is called in the second.
  const std::size_t calls = 2 * module->functions.size();
  const auto run = [&](Isolate& isolate, std::size_t call, std::uint64_t fuel) {
    return call_function(isolate, static_cast<std::uint32_t>(call / 2), plan.seed << 32 | call, fuel);
  };
  std::vector<Outcome> expected;
  for (std::size_t call = 0; call < calls; ++call) expected.push_back(run(**interpreter, call, plan.fuel));

  options.gc_stress = plan.gc_stress;
  options.gc_verify = plan.gc_stress != 0;
  for (const Executor& executor : kExecutors) {
    options.jit.mode = executor.mode;
    options.jit.threshold_samples = executor.threshold;
    options.jit.sample_interval = executor.continues ? plan.sample_interval : 1024;
    options.jit.wait = true;
    options.compile_service = service_;
    options.thread_pool = pools_[executor.pool];
    options.alarm = alarm_;
    auto isolate = Isolate::create(*linked, options);
    if (!isolate.ok()) return isolate.error().to_string();
    for (std::size_t call = 0; call < calls; ++call) {
      // Without a limit parallel loops run compiled.
      const bool limited = plan.limited_fuel || expected[call].out_of_fuel;
      const Outcome found = run(**isolate, call, limited ? plan.fuel : Limits::kUnlimitedFuel);
      if (const std::string text = difference(expected[call], found, limited); !text.empty()) {
        return fmt::format("{}, function {} '{}': {}\n{}", executor.name, call / 2,
                           module->name_of(module->functions[call / 2]), text,
                           bytecode::disassemble(*module));
      }
    }
    (*isolate)->heap().collect(gc::CollectionKind::kFull);
    if (const Status status = (*isolate)->heap().check(); !status.ok())
      return fmt::format("{}: {}", executor.name, status.error().to_string());
  }
  return {};
}

}  // namespace dhpvm::vm
