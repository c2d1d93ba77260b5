// SPDX-License-Identifier: Apache-2.0
#include "vm/api/source_harness.h"

#include <fmt/format.h>

#include <utility>

namespace dhpvm {

namespace {

// Programs of the generator end, but some take long.
constexpr std::uint64_t kMostFuel = 300'000;
constexpr std::string_view kOutOfFuel = "out of fuel";

struct Executor {
  std::string_view name;
  IsolateOptions options;
};

std::vector<Executor> executors() {
  IsolateOptions eager;
  eager.jit = Jit::kEager;
  eager.jit_wait = true;
  IsolateOptions device;
  device.jit_wait = true;
  device.device = "sim";
  device.batch = 64;
  return {{"native code", eager}, {"the simulated accelerator", device}};
}

}  // namespace

SourceHarness::SourceHarness()
    : engine_({.standard_output = [this](std::string_view text) -> Status {
                 output_ += text;
                 return {};
               },
               .threads = 2,
               .code_cache = false}) {}

SourceHarness::Outcome SourceHarness::compile(std::string_view source) {
  const auto module = Module::compile(engine_, source);
  if (module.ok()) return {};
  const ErrorCode code = module.error().code();
  const std::string words = module.error().message();
  const bool is_refusal = code == ErrorCode::kCompile || code == ErrorCode::kUnsupported;
  const bool is_clear = !words.empty() && words.find("internal error") == std::string::npos;
  return {is_refusal && is_clear ? Verdict::kRefused : Verdict::kFails, words};
}

// All that shows of a run: output, then how it ended.
std::string SourceHarness::run(const Module& module, IsolateOptions options, std::uint64_t fuel) {
  options.limits.fuel = fuel;
  output_.clear();
  auto isolate = Isolate::create(module, options);
  if (!isolate.ok()) return isolate.error().to_string();
  const Result<int> code = isolate->run_main();
  if (!code.ok() && code.error().code() == ErrorCode::kOutOfFuel) return std::string(kOutOfFuel);
  return output_ + (code.ok() ? "exit code " + std::to_string(*code) : code.error().to_string());
}

SourceHarness::Outcome SourceHarness::compare(std::string_view source) {
  Outcome compiled = compile(source);
  if (compiled.verdict != Verdict::kAgrees) return compiled;
  const auto module = Module::compile(engine_, source);
  IsolateOptions interpreter;
  interpreter.jit = Jit::kOff;
  const std::string expected = run(*module, interpreter, kMostFuel);
  if (expected == kOutOfFuel) return {Verdict::kTooLong, ""};
  for (const Executor& executor : executors()) {
    const std::string shown = run(*module, executor.options, Limits::kUnlimitedFuel);
    if (shown == expected) continue;
    return {Verdict::kFails,
            fmt::format("the interpreter shows:\n{}\n\n{} shows:\n{}", expected, executor.name, shown)};
  }
  return {};
}

}  // namespace dhpvm
