// SPDX-License-Identifier: Apache-2.0
// Values of C++ beyond numbers and spans, methods and closures, in both directions.
#include <algorithm>
#include <chrono>
#include <limits>
#include <optional>

#include "vm/api/test_program.h"

namespace dhpvm {
namespace {

using Texts = std::vector<std::string>;
using namespace std::chrono_literals;

constexpr std::string_view kProgram = R"(
extern fn sort(words: [str]) -> [str];
extern fn find(word: str) -> str?;
extern fn pause(time: f64) -> f64;
extern fn total(weights: [f64]) -> f64;

interface Shape { fn area() -> f64; fn label(prefix: str, times: i64) -> str; }
class Square: Shape {
  side: f64;
  fn area() -> f64 => side * side;
  fn label(prefix: str, times: i64) -> str => f"{prefix}{times}";
  fn grow(by: f64) { side += by; }
}
fn square(side: f64) -> Shape { let s = Square(side); s.grow(0.0); return s; }
fn adder(n: i64) -> fn(i64) -> i64 => fn(x: i64) -> i64 => x + n;
fn joiner(left: str) -> fn(str, [str]) -> str {
  return fn(right: str, more: [str]) -> str => f"{left}{right}{more.len}";
}
fn failing() -> fn(i64) -> i64 => fn(x: i64) -> i64 => 1 / x;
fn counter() -> fn() -> i64 { var n = 0; return fn() -> i64 { n += 1; return n; }; }

fn reversed(words: [str]) -> [str] {
  if words.len == 0 { return words; }
  return [words[2], words[1], words[0]];
}
fn holes() -> [str?] { let none: str? = null; return ["a", none]; }
fn same(a: i64, b: i64?, c: str?, d: f32?) -> (i64?, str?, f32?) => (b, c, d);
fn doubled(time: f64) -> f64 => time * 2.0;
fn sum(numbers: [f64]) -> f64 { var s = 0.0; for n in numbers { s += n; } return s; }

fn host_sort() -> str { let w = sort(["b", "c", "a"]); return f"{w[0]}{w[1]}{w[2]}"; }
fn host_find(word: str) -> str? => find(word);
fn host_pause(time: f64) -> f64 => pause(time);
fn host_total() -> f64 => total([1.0, 2.5]);
)";

struct ValuesHost {
  explicit ValuesHost(std::uint32_t stress) {
    define("host.sort", [](Texts words) {
      std::ranges::sort(words);
      return words;
    });
    define("host.find", [](const std::string& word) -> std::optional<std::string> {
      if (word.empty()) return std::nullopt;
      return word + "!";
    });
    define("host.pause", [](std::chrono::milliseconds time) { return time + 1s; });
    define("host.total", [](const std::vector<double>& weights) { return weights.at(0) + weights.at(1); });
    isolate.emplace(need(
        Isolate::create(need(Module::compile(engine, kProgram)), {.gc_stress = stress, .gc_verify = true})));
  }

  template <typename F>
  void define(std::string_view name, F function) {
    EXPECT_TRUE(engine.define(name, std::move(function)).ok()) << name;
  }
  template <typename Signature>
  Function<Signature> function(std::string_view name) const {
    return need(isolate->function<Signature>(name));
  }

  Engine engine;
  std::optional<Isolate> isolate;
};

// With a collection at every allocation, and without.
class Values : public testing::TestWithParam<std::uint32_t> {
 protected:
  ValuesHost host{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Stress, Values, testing::Values(0u, 1u));

TEST_P(Values, ListsOfTextsAreCopied) {
  const auto reversed = host.function<Texts(const Texts&)>("reversed");
  EXPECT_EQ(need(reversed({"one", "", "three"})), (Texts{"three", "", "one"}));
  EXPECT_TRUE(need(reversed({})).empty());
  EXPECT_EQ(need(host.function<std::string()>("host_sort")()), "abc");
  const auto holes = host.function<Texts()>("holes")();
  EXPECT_EQ(holes.error().message(), "element 1 of a [str] is null");
  EXPECT_EQ(host.isolate->function<Texts(Texts)>("sum").error().message(),
            "function 'sum' is ([f64]) -> f64 in the program, and the host asks for ([str]) -> [str]");
}

TEST_P(Values, OptionalsAreNullable) {
  using Three = std::tuple<std::optional<std::int64_t>, std::optional<std::string>, std::optional<float>>;
  const auto same = host.function<Three(std::int64_t, std::optional<std::int64_t>,
                                        std::optional<std::string_view>, std::optional<float>)>("same");
  EXPECT_EQ(need(same(7, 5, "text", 0.5f)), (Three{5, "text", 0.5f}));
  EXPECT_EQ(need(same(7, std::nullopt, std::nullopt, 0.5f)), (Three{std::nullopt, std::nullopt, 0.5f}));
  EXPECT_EQ(need(same(7, 0, "", std::nullopt)), (Three{0, "", std::nullopt}));

  const auto find = host.function<std::optional<std::string>(std::string_view)>("host_find");
  EXPECT_EQ(need(find("four")), "four!");
  EXPECT_EQ(need(find("")), std::nullopt);
}

TEST_P(Values, DurationsAreSeconds) {
  const auto doubled = host.function<std::chrono::microseconds(std::chrono::milliseconds)>("doubled");
  EXPECT_EQ(need(doubled(1500ms)), 3s);
  EXPECT_EQ(need(host.function<std::chrono::duration<double>(double)>("doubled")(0.25)).count(), 0.5);
  EXPECT_EQ(need(host.function<double(double)>("host_pause")(0.5)), 1.5);
  const auto long_time = host.function<std::chrono::nanoseconds(double)>("doubled");
  for (const double bad : {1e300, -1e300, std::numeric_limits<double>::quiet_NaN(), 9223372036.854775808 / 2})
    EXPECT_EQ(long_time(bad).error().code(), ErrorCode::kInvalidArgument) << bad;
}

TEST_P(Values, VectorsAreCopiedIn) {
  EXPECT_EQ(need(host.function<double(std::vector<double>)>("sum")({1, 2, 3})), 6);
  EXPECT_EQ(need(host.function<double()>("host_total")()), 3.5);
}

TEST_P(Values, ClosuresAreCalledByTheHost) {
  const Object adder = need(host.function<Object(std::int64_t)>("adder")(30));
  const auto add = need(adder.closure<std::int64_t(std::int64_t)>());
  host.isolate->collect();
  EXPECT_EQ(need(add(12)), 42);

  const auto counter = host.function<Object()>("counter");
  const auto count = need(need(counter()).closure<std::int64_t()>());  // keeps the closure alive by itself
  host.isolate->collect();
  EXPECT_EQ(need(count()), 1);
  EXPECT_EQ(need(count()), 2);

  const auto joiner = host.function<Object(std::string_view)>("joiner");
  const auto join = need(need(joiner("a")).closure<std::string(std::string_view, Texts)>());
  EXPECT_EQ(need(join("b", {"x", "y"})), "ab2");

  const auto fail = need(need(host.function<Object()>("failing")()).closure<std::int64_t(std::int64_t)>());
  EXPECT_EQ(fail(0).error().code(), ErrorCode::kDivisionByZero);
  EXPECT_EQ(need(fail(1)), 1);
}

TEST_P(Values, MethodsAreBoundToTheirObject) {
  const Object square = need(host.function<Object(double)>("square")(3));
  const auto area = need(square.method<double()>("area"));
  EXPECT_EQ(need(area()), 9);
  ASSERT_TRUE(need(square.method<void(double)>("grow"))(1).ok());
  EXPECT_EQ(need(area()), 16);
  EXPECT_EQ(need(need(square.method<std::string(std::string_view, std::int64_t)>("label"))("x", 2)), "x2");
}

TEST(Methods, WhatDoesNotFitIsExplained) {
  const ValuesHost host(0);
  const Object square = need(host.function<Object(double)>("square")(3));
  EXPECT_EQ(square.method<double()>("aera").error().message(),
            "class Square has no method 'aera'; did you mean 'area'?");
  EXPECT_EQ(square.method<double()>("nothing_like_it").error().code(), ErrorCode::kNotFound);
  EXPECT_EQ(square.method<float(bool)>("area").error().message(),
            "method 'area' of Square is () -> f64 in the program, and the host asks for (bool) -> f32");
  EXPECT_EQ(square.closure<void()>().error().message(), "the object is of type Square, which is no closure");
  EXPECT_EQ(Object().method<void()>("area").error().code(), ErrorCode::kNullReference);
  EXPECT_EQ(Object().closure<void()>().error().code(), ErrorCode::kNullReference);
  const Object text =
      need(Isolate(need(Isolate::create(need(Module::compile(host.engine, "fn f() {}"))))).make_text("text"));
  EXPECT_EQ(text.method<void()>("area").error().code(), ErrorCode::kBadCast);
  EXPECT_EQ(text.closure<void()>().error().code(), ErrorCode::kBadCast);
}

}  // namespace
}  // namespace dhpvm
