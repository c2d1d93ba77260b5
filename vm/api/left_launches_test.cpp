// SPDX-License-Identifier: Apache-2.0
// Requests to stop that come while a device does what nobody can interrupt: a long launch, or a compilation. The call
// ends, and so does the isolate; the rest ends by itself.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "vm/api/test_program.h"

namespace dhpvm {
namespace {

constexpr std::string_view kProgram = R"(
fn fill(out: [f64], turns: i64) {
    parallel for i in 0..out.len {
        var x = 1.0 + (i as f64);
        for k in 0..turns { x = x * 1.0000001 + 0.5; }
        out[i] = x;
    }
}
fn one(turns: i64) -> f64 {
    let out = [f64](1);
    fill(out, turns);
    return out[0];
}
)";

class LeftLaunches : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::vector<DeviceEntry> devices = engine_.devices();
    const auto found = std::ranges::find_if(devices, [](const DeviceEntry& device) {
      return device.name.starts_with("opencl") && device.problem.empty();
    });
    if (found == devices.end()) GTEST_SKIP() << "no OpenCL device here";
    device_ = found->name;
  }
  void TearDown() override {
    EXPECT_TRUE(engine_.settle(std::chrono::minutes(5)));
    EXPECT_TRUE(engine_.leftovers().none());
  }

  Isolate isolate(std::string_view source, std::chrono::nanoseconds deadline = Limits::kNoDeadline) const {
    IsolateOptions options;
    options.device = device_;
    options.limits.deadline = deadline;
    return need(Isolate::create(need(Module::compile(engine_, source)), options));
  }
  // The code of the trap of a call that is interrupted soon after it has begun.
  template <typename Call>
  static ErrorCode interrupted(const Isolate& isolate, Call&& call) {
    std::jthread user([&](const std::stop_token& ended) {
      // The call may begin later than the first request.
      while (!ended.stop_requested()) {
        std::this_thread::sleep_for(std::chrono::milliseconds(300));
        isolate.interrupt();
      }
    });
    const auto result = call();
    return result.ok() ? ErrorCode::kInternal : result.error().code();
  }

  Engine engine_{{.threads = 2, .code_cache = false}};
  std::string device_;
};

TEST_F(LeftLaunches, OutliveTheirIsolates) {
  std::optional<Isolate> isolate = this->isolate(kProgram);
  const auto one = [&](std::int64_t turns) {
    return need(isolate->function<double(std::int64_t)>("one"))(turns);
  };
  EXPECT_EQ(need(one(1)), 1.0 * 1.0000001 + 0.5);
  EXPECT_EQ(interrupted(*isolate, [&] { return one(1'000'000'000); }), ErrorCode::kInterrupted);
  isolate.reset();
  EXPECT_FALSE(engine_.settle(std::chrono::nanoseconds(0))) << "somebody has waited for the launch";
}

// A driver may have compiled the same text for an earlier run of the test.
TEST_F(LeftLaunches, MayBeCompilations) {
  const std::string own = fmt::format(
      "fn f(a: [f64]) {{ parallel for i in 0..a.len {{ a[i] = a[i] * 0.5 + {}.25; }} }}\n"
      "fn g() -> f64 {{ let a = [f64](100000); f(a); return a[0]; }}",
      std::chrono::steady_clock::now().time_since_epoch().count());
  const Isolate isolate = this->isolate(own, std::chrono::milliseconds(20));
  const auto result = need(isolate.function<double()>("g"))();
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code(), ErrorCode::kDeadline);
  EXPECT_NE(result.error().to_string().find("while it was compiled"), std::string::npos)
      << result.error().to_string();
}

// The host may free it as soon as the call has ended.
TEST_F(LeftLaunches, DoNotTouchLentMemory) {
  std::vector<double> lent(100'000);
  std::vector<double> at_the_end;
  {
    const Isolate isolate = this->isolate(kProgram);
    const auto fill = need(isolate.function<void(std::span<double>, std::int64_t)>("fill"));
    EXPECT_TRUE(fill(std::span(lent), 1).ok());
    EXPECT_EQ(interrupted(isolate, [&] { return fill(std::span(lent), 1'000'000); }),
              ErrorCode::kInterrupted);
    at_the_end = lent;
  }
  EXPECT_TRUE(engine_.settle(std::chrono::minutes(5)));
  EXPECT_EQ(lent, at_the_end);
}

}  // namespace
}  // namespace dhpvm
