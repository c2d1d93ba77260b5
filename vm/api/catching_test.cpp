// SPDX-License-Identifier: Apache-2.0
// Traps that programs catch, on their way through functions of the host: interpreted and compiled.
#include <gtest/gtest.h>

#include <optional>
#include <string_view>

#include "vm/api/test_program.h"

namespace dhpvm {
namespace {

constexpr std::string_view kProgram = R"(
extern "host.call" fn call_host(n: i64) -> i64;

class Door { opened: [i64]; fn close() { opened[0] -= 1; } }

fn inner(n: i64, opened: [i64]) -> i64 {
    use door = Door(opened);
    opened[0] += 1;
    if n == 0 { trap("at the bottom"); }
    if n % 3 == 0 {
        return try { opened[n] } catch { call_host(n - 1) + 100 };
    }
    return call_host(n - 1) + 1;
}

fn run(n: i64) -> i64 => inner(n, [0]);

fn outer(n: i64) -> i64 {
    let opened = [0];
    let given = try { inner(n, opened) } catch err {
        assert(err.message.ends_with("in host function 'host.call' (5 times): at the bottom"), err.message);
        13
    };
    return given * 10 + opened[0];
}

fn fails() -> i64 {
    return try { call_host(-1) } catch err {
        match err.kind { InputOutput => 1, HostFailed => 2, else => 3 }
    };
}

fn endless() -> i64 {
    return try { call_host(-2) } catch { 1 };
}
fn spin() { while true { } }
)";

class CatchingTest : public testing::TestWithParam<Jit> {
 protected:
  void SetUp() override {
    const Status defined = engine_.define("host.call", [this](std::int64_t n) -> Result<std::int64_t> {
      if (n == -1) return Error(ErrorCode::kNotFound, "there is nothing");
      if (n == -2) {
        DHPVM_TRY(need(isolate_->function<void()>("spin"))());
        return 0;
      }
      return need(isolate_->function<std::int64_t(std::int64_t)>("run"))(n);
    });
    ASSERT_TRUE(defined.ok());
    const Module module = need(Module::compile(engine_, kProgram));
    IsolateOptions options{.jit = GetParam()};
    options.limits.fuel = 1'000'000;
    auto created = Isolate::create(module, options);
    if (!created.ok() && created.error().code() == ErrorCode::kUnsupported)
      GTEST_SKIP() << created.error().message();
    isolate_.emplace(need(std::move(created)));
  }
  Result<std::int64_t> call(std::string_view function, std::int64_t n) {
    return need(isolate_->function<std::int64_t(std::int64_t)>(function))(n);
  }

  Engine engine_;
  std::optional<Isolate> isolate_;
};

TEST_P(CatchingTest, TrapsCrossTheHost) {
  // Through the host and back several times, down to a trap that is not caught on the way.
  EXPECT_EQ(need(call("outer", 5)), 130);
  const Result<std::int64_t> uncaught = call("run", 2);
  ASSERT_FALSE(uncaught.ok());
  EXPECT_EQ(uncaught.error().code(), ErrorCode::kUserTrap);
  const Error* first = &uncaught.error();
  while (first->cause() != nullptr) first = first->cause();
  EXPECT_EQ(first->message(), "at the bottom");
  EXPECT_GE(uncaught.error().frames().size(), 3U);
}

TEST_P(CatchingTest, FailuresOfTheHostAreCaught) {
  EXPECT_EQ(need(need(isolate_->function<std::int64_t()>("fails"))()), 2);
}

TEST_P(CatchingTest, LimitsAreNot) {
  const Result<std::int64_t> stopped = need(isolate_->function<std::int64_t()>("endless"))();
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.error().code(), ErrorCode::kOutOfFuel);
}

INSTANTIATE_TEST_SUITE_P(Modes, CatchingTest, testing::Values(Jit::kOff, Jit::kEager));

}  // namespace
}  // namespace dhpvm
