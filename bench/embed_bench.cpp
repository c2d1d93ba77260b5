// SPDX-License-Identifier: Apache-2.0
// Measures the embedding API against its bars, as an application would use it: `embed_bench [--json]`. With
// --json one line per figure: {"name", "value", "unit", "bar", "met"}; a bar of 0 is none.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <string_view>
#include <vector>

#include "bench/json_line.h"
#include "dhpvm/c.h"
#include "dhpvm/dhpvm.h"

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kRepeats = 11;
constexpr std::int64_t kCalls = 200'000;

constexpr std::string_view kProgram = R"dasm(
module 1.0
type string str
type resource resource
type array [f64]: f64
import host.nothing()
import host.add(i64, i64) -> i64
import host.length(str) -> i64

function empty() registers 0 0 exported
  return
end

function add(i64, i64) -> i64 registers 2 0 exported
  add.i64 p0, p0, p1
  return
end

function first([f64]) -> f64 registers 1 1 exported
  imm p0, 0
  load.f64 p0, r0, p0
  return
end

function text_length(str) -> i64 registers 1 1 exported
  string.length p0, r0
  return
end

function loop_alone(i64) -> i64 registers 4 0 exported
  imm p1, 0
L0:
  imm p2, 1
  imm p3, 2
  for.i64 p1, p0, L0
  move.p p0, p1
  return
end

function loop_nothing(i64) -> i64 registers 4 1 exported
  imm p1, 0
L0:
  call.native p2, r0, host.nothing
  for.i64 p1, p0, L0
  move.p p0, p1
  return
end

function loop_add(i64) -> i64 registers 4 1 exported
  imm p1, 0
L0:
  imm p2, 1
  imm p3, 2
  call.native p2, r0, host.add
  for.i64 p1, p0, L0
  move.p p0, p1
  return
end

function loop_length(i64, str) -> i64 registers 4 2 exported
  imm p1, 0
L0:
  move.r r1, r0
  call.native p2, r1, host.length
  for.i64 p1, p0, L0
  move.p p0, p1
  return
end
)dasm";

[[noreturn]] void fail(const dhpvm::Error& error) {
  std::fprintf(stderr, "embed_bench: %s\n", error.to_string().c_str());
  std::exit(1);
}

template <typename T>
T need(dhpvm::Result<T> result) {
  if (!result.ok()) fail(result.error());
  return std::move(result).value();
}

// A figure that no call produced must not count: every result is looked at.
void check(bool right, const char* what) {
  if (right) return;
  std::fprintf(stderr, "embed_bench: wrong result: %s\n", what);
  std::exit(1);
}

// Nanoseconds per call: the median of several rounds after one to warm up.
double median_ns(std::int64_t calls, const std::function<void()>& round) {
  round();
  std::array<double, kRepeats> times{};
  for (double& time : times) {
    const auto begin = Clock::now();
    round();
    time =
        std::chrono::duration<double, std::nano>(Clock::now() - begin).count() / static_cast<double>(calls);
  }
  std::nth_element(times.begin(), times.begin() + kRepeats / 2, times.end());
  return times[kRepeats / 2];
}

// A function of an isolate of its own, called through the C interface.
class CFunction {
 public:
  CFunction(dhpvm_engine* engine, const dhpvm::Module& module, const char* name) {
    const std::vector<std::byte> bytes = module.bytes();
    dhpvm_module* loaded = nullptr;
    dhpvm_isolate* isolate = nullptr;
    check(dhpvm_module_load(engine, bytes.data(), bytes.size(), &loaded, nullptr) == DHPVM_OK, "load");
    check(dhpvm_isolate_new(loaded, nullptr, &isolate, nullptr) == DHPVM_OK, "isolate");
    check(dhpvm_isolate_function(isolate, name, nullptr, &function_, nullptr) == DHPVM_OK, name);
    dhpvm_isolate_free(isolate);
    dhpvm_module_free(loaded);
  }
  ~CFunction() { dhpvm_function_free(function_); }
  CFunction(const CFunction&) = delete;
  CFunction& operator=(const CFunction&) = delete;
  dhpvm_value call(const dhpvm_value* argument, std::size_t arguments, std::size_t results) const {
    dhpvm_value result{};
    check(dhpvm_call(function_, argument, arguments, &result, results, nullptr) == DHPVM_OK, "dhpvm_call");
    return result;
  }

 private:
  dhpvm_function* function_ = nullptr;
};

// The same host on the C interface, for C and languages that call C.
class CHost {
 public:
  explicit CHost(const dhpvm::Module& module) : module_(module) {
    check(dhpvm_engine_new(nullptr, &engine_, nullptr) == DHPVM_OK, "engine");
    define("host.nothing", "()", [](dhpvm_host_call*) -> dhpvm_code { return DHPVM_OK; });
    define("host.add", "(i64, i64) -> i64", [](dhpvm_host_call* call) -> dhpvm_code {
      call->results[0].of.i64 = call->arguments[0].of.i64 + call->arguments[1].of.i64;
      return DHPVM_OK;
    });
    define("host.length", "(str) -> i64", [](dhpvm_host_call* call) -> dhpvm_code {
      call->results[0].of.i64 = static_cast<std::int64_t>(call->arguments[0].of.text.size);
      return DHPVM_OK;
    });
  }
  ~CHost() { dhpvm_engine_free(engine_); }
  CHost(const CHost&) = delete;
  CHost& operator=(const CHost&) = delete;

  double empty() const {
    const CFunction function(engine_, module_, "empty");
    return median_ns(kCalls, [&] {
      for (std::int64_t i = 0; i < kCalls; ++i) (void)function.call(nullptr, 0, 0);
    });
  }
  double text() const {
    const CFunction function(engine_, module_, "text_length");
    dhpvm_value value{DHPVM_TEXT, 0, {}};
    value.of.text = {"0123456789abcdef", 16};
    return median_ns(kCalls, [&] {
      for (std::int64_t i = 0; i < kCalls; ++i) check(function.call(&value, 1, 1).of.i64 == 16, "text()");
    });
  }
  double span() const {
    const CFunction function(engine_, module_, "first");
    std::vector<double> numbers(1000, 7.0);
    dhpvm_array array{sizeof array, numbers.data(), DHPVM_F64, DHPVM_READ, 1, 0, {1000, 0, 0}, {}};
    dhpvm_value value{DHPVM_ARRAY, 0, {}};
    value.of.array = &array;
    return median_ns(kCalls, [&] {
      for (std::int64_t i = 0; i < kCalls; ++i) check(function.call(&value, 1, 1).of.f64 == 7.0, "first()");
    });
  }
  double host_function(const char* name) const {
    const CFunction function(engine_, module_, name);
    dhpvm_value value{DHPVM_I64, 0, {}};
    value.of.i64 = kCalls;
    return median_ns(kCalls, [&] { check(function.call(&value, 1, 1).of.i64 == kCalls, name); });
  }

 private:
  void define(const char* name, const char* signature, dhpvm_host_function function) {
    check(dhpvm_engine_define(engine_, name, signature, function, nullptr, nullptr, nullptr) == DHPVM_OK,
          name);
  }

  const dhpvm::Module& module_;
  dhpvm_engine* engine_ = nullptr;
};

class Report {
 public:
  explicit Report(bool json) : json_(json) {
    if (!json) std::printf("%-34s %12s %8s\n", "embedding", "measured", "bar");
  }
  void add(const char* name, double value, const char* unit, double bar) {
    const bool met = bar == 0 || value <= bar;
    if (json_) {
      dhpvm::print_json_line({{"name", name}, {"value", value}, {"unit", unit}, {"bar", bar}, {"met", met}});
    } else if (bar == 0) {
      std::printf("%-34s %9.1f %s\n", name, value, unit);
    } else {
      std::printf("%-34s %9.1f %s %8g  %s\n", name, value, unit, bar, met ? "" : "missed");
    }
  }

 private:
  bool json_;
};

void report_c(const dhpvm::Module& module, Report& report) {
  const CHost host(module);
  report.add("C: call an empty function", host.empty(), "ns", 25);
  report.add("C: pass a str of 16 bytes", host.text(), "ns", 35);
  report.add("C: lend a span of 1000 f64", host.span(), "ns", 40);
  report.add("C: host function, empty (with loop)", host.host_function("loop_nothing"), "ns", 0);
  report.add("C: host function, two i64 (with loop)", host.host_function("loop_add"), "ns", 0);
}

}  // namespace

int main(int count, char** words) {
  Report report(count > 1 && std::string_view(words[1]) == "--json");

  dhpvm::Engine engine;
  std::int64_t host_calls = 0;
  (void)engine.define("host.nothing", [&host_calls] { ++host_calls; });
  (void)engine.define("host.add", [](std::int64_t a, std::int64_t b) { return a + b; });
  (void)engine.define("host.length",
                      [](std::string_view text) { return static_cast<std::int64_t>(text.size()); });
  const dhpvm::Module module = need(dhpvm::Module::assemble(engine, kProgram));
  dhpvm::Isolate isolate = need(dhpvm::Isolate::create(module));

  const auto empty = need(isolate.function<void()>("empty"));
  report.add("call an empty function",
             median_ns(kCalls,
                       [&] {
                         for (std::int64_t i = 0; i < kCalls; ++i) check(empty().ok(), "empty()");
                       }),
             "ns", 25);

  const auto add = need(isolate.function<std::int64_t(std::int64_t, std::int64_t)>("add"));
  report.add("call add(i64, i64) -> i64",
             median_ns(kCalls,
                       [&] {
                         for (std::int64_t i = 0; i < kCalls; ++i)
                           check(add(i, 1).value_or(0) == i + 1, "add()");
                       }),
             "ns", 0);

  const auto first = need(isolate.function<double(std::span<const double>)>("first"));
  std::vector<double> numbers(1000);
  std::iota(numbers.begin(), numbers.end(), 7.0);
  report.add("lend a span of 1000 f64",
             median_ns(kCalls,
                       [&] {
                         for (std::int64_t i = 0; i < kCalls; ++i)
                           check(first(numbers).value_or(0) == 7.0, "first()");
                       }),
             "ns", 40);

  const auto text_length = need(isolate.function<std::int64_t(std::string_view)>("text_length"));
  report.add("pass a str of 16 bytes",
             median_ns(kCalls,
                       [&] {
                         for (std::int64_t i = 0; i < kCalls; ++i)
                           check(text_length("0123456789abcdef").value_or(0) == 16, "text()");
                       }),
             "ns", 35);

  const auto loop = [&](const char* name) {
    const auto function = need(isolate.function<std::int64_t(std::int64_t)>(name));
    return median_ns(kCalls, [&] { check(function(kCalls).value_or(0) == kCalls, name); });
  };
  report.add("one turn of an empty loop", loop("loop_alone"), "ns", 0);
  host_calls = 0;
  report.add("host function, empty (with loop)", loop("loop_nothing"), "ns", 50);
  check(host_calls == kCalls * (kRepeats + 1), "host.nothing() was not called each time");
  report.add("host function, two i64 (with loop)", loop("loop_add"), "ns", 50);
  const auto loop_length =
      need(isolate.function<std::int64_t(std::int64_t, std::string_view)>("loop_length"));
  report.add(
      "host function, a str (with loop)",
      median_ns(kCalls, [&] { check(loop_length(kCalls, "text").value_or(0) == kCalls, "loop_length"); }),
      "ns", 0);

  constexpr std::int64_t kIsolates = 200;
  report.add("make and drop an isolate",
             median_ns(kIsolates,
                       [&] {
                         for (std::int64_t i = 0; i < kIsolates; ++i)
                           check(dhpvm::Isolate::create(module).ok(), "create()");
                       }) /
                 1000,
             "us", 10);
  report_c(module, report);
  return 0;
}
