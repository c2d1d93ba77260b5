// SPDX-License-Identifier: Apache-2.0
// Loops over small arrays on a worker, which gets several at once: results equal the interpreter's, whenever the
// worker goes.
#include <chrono>
#include <optional>
#include <thread>

#include <gmock/gmock.h>

#include "base/test_effort.h"
#include "vm/api/chain_programs.h"
#include "vm/api/test_program.h"

namespace dhpvm {
namespace {

class SmallLoops : public ::testing::Test {
 protected:
  static Engine plain_engine() {
    return Engine({.threads = 2, .code_cache_directory = ::testing::TempDir() + "dhpvm-small-loops-test"});
  }
  static Worker start() {
    WorkerOptions options;
    options.devices = {"host"};
    options.listen = {"127.0.0.1:0"};
    return need(Worker::start(plain_engine(), options));
  }
  static Engine client(const Worker& worker, bool write_back = true) {
    EngineOptions options{.threads = 2,
                          .code_cache_directory = ::testing::TempDir() + "dhpvm-small-loops-test"};
    options.remote.workers = {worker.addresses()[0]};
    options.remote.write_back = write_back;
    return Engine(std::move(options));
  }
  static Isolate on_worker(const Module& module, const Worker& worker, std::uint32_t gc_stress = 0) {
    IsolateOptions options;
    options.jit_wait = true;
    options.device = "remote/" + worker.addresses()[0] + "/host";
    options.gc_stress = gc_stress;
    return need(Isolate::create(module, options));
  }
  // The policy chooses the worker, or the host if that is gone.
  static Isolate by_policy(const Module& module) {
    IsolateOptions options;
    options.jit_wait = true;
    options.device = "host,remote";
    options.policy = Policy::kRemote;
    options.policy_factor = 1e9;
    return need(Isolate::create(module, options));
  }
  static Result<std::int64_t> run(const Isolate& isolate, std::int64_t n) {
    return need(isolate.function<std::int64_t(std::int64_t)>("run"))(n);
  }
  // From the second run on the arrays are in buffers, and stay on the device between the loops.
  static void expect_same_results(const Isolate& device, const Isolate& interpreter) {
    for (const std::int64_t n : {100, 1000, 5, 5000, 9001}) {
      const auto expected = run(interpreter, n);
      const auto computed = run(device, n);
      ASSERT_TRUE(expected.ok()) << expected.error().to_string();
      ASSERT_TRUE(computed.ok()) << computed.error().to_string();
      ASSERT_EQ(*computed, *expected) << "n " << n << "\n" << device.explain_loops();
    }
  }
  // An isolate that has run the program on a worker, with the result of the interpreter.
  static Isolate ran_as_interpreted(const Worker& worker, std::string_view program, std::int64_t n) {
    const Engine engine = client(worker);
    const Module module = need(Module::compile(engine, program));
    Isolate device = on_worker(module, worker);
    const Isolate interpreter = need(Isolate::create(module, {.jit = Jit::kOff}));
    EXPECT_EQ(need(run(device, n)), need(run(interpreter, n)));
    return device;
  }
};

TEST_F(SmallLoops, ComputeWhatTheInterpreterComputes) {
  Worker worker = start();
  const Engine engine = client(worker);
  const Engine lazy_engine = client(worker, false);
  std::uint64_t chained = 0;
  for (std::uint64_t seed = 0; seed < test_effort(12); ++seed) {
    const std::string program = ChainPrograms(seed).make();
    const Module module = need(Module::compile(seed % 2 == 0 ? engine : lazy_engine, program));
    const Isolate interpreter = need(Isolate::create(module, {.jit = Jit::kOff}));
    const Isolate device = on_worker(module, worker, seed % 3 == 0 ? 3 : 0);
    SCOPED_TRACE(program);
    ASSERT_NO_FATAL_FAILURE(expect_same_results(device, interpreter));
    chained += device.statistics().device_chained;
  }
  EXPECT_GT(chained, test_effort(120)) << "or nothing has been tested";
}

// With results copied back at once nothing is lost; otherwise the program gets the loss as an error.
TEST_F(SmallLoops, AWorkerThatGoesChangesNoResult) {
  unsigned right = 0;
  for (std::uint64_t seed = 100; seed < 100 + test_effort(10); ++seed) {
    std::optional<Worker> worker(start());
    const bool write_back = seed % 2 == 0;
    const Engine engine = client(*worker, write_back);
    const std::string program = ChainPrograms(seed).make();
    const Module module = need(Module::compile(engine, program));
    const Isolate interpreter = need(Isolate::create(module, {.jit = Jit::kOff}));
    const Isolate device = seed % 4 < 2 ? on_worker(module, *worker) : by_policy(module);
    const std::int64_t expected = need(run(interpreter, 1000));
    ASSERT_EQ(need(run(device, 1000)), expected) << program;
    std::thread end([&] {
      std::this_thread::sleep_for(std::chrono::microseconds(seed * 7919 % 20'000));
      worker.reset();
    });
    for (int round = 0; round < 40; ++round) {
      const auto computed = run(device, 1000);
      if (computed.ok()) {
        EXPECT_EQ(*computed, expected) << "seed " << seed << "\n" << program;
        ++right;
      } else {
        EXPECT_FALSE(write_back) << computed.error().to_string();
      }
    }
    end.join();
  }
  EXPECT_GT(right, test_effort(200));
}

// Devices of this machine get short loops at once, too, and may fail between any two of them.
TEST_F(SmallLoops, JoinOnDevicesHere) {
  const Engine engine = plain_engine();
  std::uint64_t chained = 0;
  for (std::uint64_t seed = 200; seed < 200 + test_effort(4); ++seed) {
    const std::string program = ChainPrograms(seed).make();
    const Module module = need(Module::compile(engine, program));
    const Isolate interpreter = need(Isolate::create(module, {.jit = Jit::kOff}));
    IsolateOptions options;
    options.jit_wait = true;
    options.device = seed % 2 == 0 ? "sim" : "sim?lost=" + std::to_string(20 + 17 * (seed % 4));
    options.gc_stress = seed % 3 == 0 ? 3 : 0;
    const Isolate device = need(Isolate::create(module, options));
    SCOPED_TRACE(program);
    ASSERT_NO_FATAL_FAILURE(expect_same_results(device, interpreter));
    chained += device.statistics().device_chained;
  }
  EXPECT_GT(chained, test_effort(20)) << "or nothing has been tested";
}

// A transposed matrix is sent back as a whole, and elements that loops have replaced must not get there before it.
TEST_F(SmallLoops, ADeviceHereThatGoesChangesNoResult) {
  constexpr std::string_view kProgram = R"(
fn run() -> f64 {
    let sums = [f64](300);
    let m = [f64, 2](17, 33);
    let turned = [f64, 2](33, 17);
    var result = 0.0;
    for step in 0..20 {
        let x = [f64](300, fill: 1.0);
        parallel for i in 0..300 { x[i] = x[i] + sums[i]; }
        parallel for i in 0..300 { sums[i] = x[i] + sums[i]; }
        parallel for i in 0..17, j in 0..33 { turned[j, i] = m[i, j] + 1.0; }
        parallel for i in 0..33, j in 0..17 { m[j, i] = turned[i, j] + 1.0; }
        if step % 5 == 4 { result += x[5]; }
    }
    return result + sums[7] + m[2, 2] + turned[2, 2];
}
)";
  const Engine engine = plain_engine();
  const Module module = need(Module::compile(engine, kProgram));
  const Isolate interpreter = need(Isolate::create(module, {.jit = Jit::kOff}));
  const double expected = need(need(interpreter.function<double()>("run"))());
  for (int operations = 1; operations < 60; ++operations) {
    IsolateOptions options;
    options.jit_wait = true;
    options.device = "sim?lost=" + std::to_string(operations);
    const Isolate device = need(Isolate::create(module, options));
    const auto computed = need(device.function<double()>("run"))();
    ASSERT_TRUE(computed.ok()) << options.device << ": " << computed.error().to_string();
    ASSERT_EQ(*computed, expected) << options.device;
  }
}

constexpr std::string_view kSteps = R"(
fn run(n: i64) -> i64 {
    let a = [i64](n);
    let b = [i64](n);
    var sum = 0;
    for step in 0..50 {
        for k in 0..10 {
            parallel for i in 0..n { b[i] = a[i] * 3 + k; }
            parallel for i in 0..n { a[i] = b[i] % 1000003; }
        }
        sum += a[step % n];
    }
    return sum;
}
)";

// The first loops find out that they run on a worker; then there is one journey for each step, with results alone.
TEST_F(SmallLoops, TravelTogether) {
  const Worker worker = start();
  const Isolate device = ran_as_interpreted(worker, kSteps, 500);
  const Statistics statistics = device.statistics();
  EXPECT_EQ(statistics.device_loops, 1000u);
  EXPECT_GE(statistics.device_chained, 990u);
  EXPECT_LE(statistics.device_uploads, 8u);
  EXPECT_LE(statistics.device_downloads, 106u);
  EXPECT_THAT(device.explain_loops(), ::testing::HasSubstr("in one message with"));
  // The first ones had other loops, or uploads.
  EXPECT_THAT(device.explain_loops(),
              ::testing::ContainsRegex("4[789]. of (4..|500) executions were in recorded"));
}

constexpr std::string_view kTwoSizes = R"(
fn run(n: i64) -> i64 {
    let arrays = [[i64]](2, fill: [i64](n));
    arrays[1] = [i64](n + 1);
    for step in 0..100 {
        let a = arrays[step % 2];
        parallel for i in 0..a.len { a[i] = a[i] * 3 + step; }
    }
    return arrays[0][n / 2] + arrays[1][n];
}
)";

// A choice among places holds for a moment, and never for other sizes.
TEST_F(SmallLoops, FollowTheLastDecision) {
  const Worker worker = start();
  const Engine engine = client(worker);
  const auto story_of = [&](std::string_view program) {
    const Module module = need(Module::compile(engine, program));
    const Isolate device = by_policy(module);
    const Isolate interpreter = need(Isolate::create(module, {.jit = Jit::kOff}));
    EXPECT_EQ(need(run(device, 500)), need(run(interpreter, 500)));
    EXPECT_GT(device.statistics().device_chained, 0U);
    return device.explain_loops();
  };
  EXPECT_THAT(story_of(kSteps), ::testing::HasSubstr("executions followed a decision"));
  EXPECT_THAT(story_of(kTwoSizes), ::testing::Not(::testing::HasSubstr("executions followed a decision")));
}

constexpr std::string_view kFull = R"(
fn run(n: i64) -> i64 {
    let many = [[i64]](40, fill: [i64](1));
    for i in 0..40 { many[i] = [i64](n); }
    for r in 0..3 { for i in 0..40 {
        let a = many[i];
        parallel for j in 0..a.len { a[j] += j * r + i; }
    } }
    let x = [i64](500 * n);
    let y = [i64](500 * n);
    for r in 0..3 { parallel for i in 0..x.len { y[i] = x[i] * 2 + i; } }
    var sum = y[500 * n - 1];
    for i in 0..40 { sum += many[i][n - 1]; }
    return sum;
}
)";

// The same on a device here: nothing is waited for between two looks at the results.
TEST_F(SmallLoops, StayOnADeviceHere) {
  const Module module = need(Module::compile(plain_engine(), kSteps));
  IsolateOptions options;
  options.jit_wait = true;
  options.device = "sim";
  const Isolate device = need(Isolate::create(module, options));
  const Isolate interpreter = need(Isolate::create(module, {.jit = Jit::kOff}));
  EXPECT_EQ(need(run(device, 500)), need(run(interpreter, 500)));
  const Statistics statistics = device.statistics();
  EXPECT_EQ(statistics.device_loops, 1000u);
  // A launch that was kept from the processor for long runs by itself the next time.
  EXPECT_GE(statistics.device_chained, 900u);
  EXPECT_LE(statistics.device_uploads, 100u);
  EXPECT_LE(statistics.device_downloads, 300u);
  EXPECT_THAT(device.explain_loops(), ::testing::HasSubstr("ran as one with"));
}

// The device is full of results that it alone has: room for the large loop comes from downloads within its message.
TEST_F(SmallLoops, MakeRoomForALargeOne) {
  const Worker worker = start();
  const Module module = need(Module::compile(client(worker, false), kFull));
  const Isolate interpreter = need(Isolate::create(module, {.jit = Jit::kOff}));
  IsolateOptions options;
  options.jit_wait = true;
  options.device = "remote/" + worker.addresses()[0] + "/host";
  options.limits.device_bytes = 1 << 20;
  options.limits.deadline = std::chrono::minutes(1);
  const Isolate device = need(Isolate::create(module, options));
  EXPECT_EQ(need(run(device, 2000)), need(run(interpreter, 2000)));
}

constexpr std::string_view kAnswers = R"(
fn run(n: i64) -> i64 {
    let a = [[i64]](7, fill: [i64](1));
    for i in 0..7 { a[i] = [i64](n); }
    let p = a[0]; let q = a[1]; let r = a[2]; let s = a[3]; let t = a[4]; let u = a[5]; let v = a[6];
    var sum = 0;
    for step in 0..8 {
        for k in 0..40 {
            parallel for i in 0..n {
                p[i] += i; q[i] += p[i]; r[i] += q[i]; s[i] += r[i]; t[i] += s[i]; u[i] += t[i]; v[i] += u[i];
            }
        }
        sum += v[step];
    }
    return sum;
}
)";

// A worker is not sent more loops than it can have answers under way for.
TEST_F(SmallLoops, HaveNoMoreAnswersThanAWorkerHolds) {
  const Worker worker = start();
  const Isolate device = ran_as_interpreted(worker, kAnswers, 4096);
  EXPECT_EQ(device.statistics().device_loops, 320u) << device.explain_loops();
}

constexpr std::string_view kGathers = R"(
fn run(n: i64) -> i64 {
    let x = [i64](n);
    let y = [i64](n);
    let rows = [i32](n);
    for i in 0..n { x[i] = i * i; rows[i] = ((i * 7) % n) as i32; }
    var sum = 0;
    for step in 0..20 {
        parallel for i in 0..n { y[i] += x[rows[i] as i64] + step; }
        parallel for i in 0..n { x[i] = x[i] ^ (step * 3); }
        parallel for i in 0..n reduce(+: sum) { sum += y[i]; }
        rows[step % n] = ((step * 5) % n) as i32;
    }
    return sum;
}
)";

// The first loop of each step could trap, but the host sees that it does not; the last one has a result, and runs
// behind the others in their message.
TEST_F(SmallLoops, TravelWithALoopThatIsWaitedFor) {
  const Worker worker = start();
  const Isolate device = ran_as_interpreted(worker, kGathers, 500);
  EXPECT_EQ(device.statistics().device_loops, 60u);
  EXPECT_GE(device.statistics().device_chained, 45u);
  EXPECT_THAT(device.explain_loops(), ::testing::HasSubstr("in one message with"));
}

// `by_host`: who writes the position that no array has.
constexpr std::string_view kWrongPosition = R"(
fn run(n: i64) -> i64 {
    let by_host = n > 1000;
    let wrong = n % 1000;
    let a = [i64](100);
    let b = [i64](100);
    let p = [i64](100);
    for step in 0..30 {
        parallel for i in 0..100 { a[i] = a[i] + step; }
        if by_host {
            p[step] = if step == 20 { wrong } else { step };
        } else {
            parallel for i in 0..100 { p[i] = if step == 20 && i == 3 { wrong } else { i }; }
        }
        parallel for i in 0..100 { b[i] = a[p[i]]; }
    }
    return b[3] + b[20];
}
)";

TEST_F(SmallLoops, TrapAsTheInterpreterDoes) {
  const Worker worker = start();
  const Engine engine = client(worker);
  const Module module = need(Module::compile(engine, kWrongPosition));
  const Isolate device = on_worker(module, worker);
  const Isolate interpreter = need(Isolate::create(module, {.jit = Jit::kOff}));
  for (const std::int64_t n : {7, 2007, 99, 2099, 100, 2100, 999, 2999, 8}) {
    const auto expected = run(interpreter, n);
    const auto computed = run(device, n);
    ASSERT_EQ(computed.ok(), expected.ok()) << n;
    if (expected.ok()) {
      EXPECT_EQ(*computed, *expected) << n;
    } else {
      EXPECT_EQ(computed.error().to_string(), expected.error().to_string()) << n;
    }
  }
  EXPECT_THAT(device.explain_loops(), ::testing::HasSubstr("in one message with"));
}

constexpr std::string_view kLong = R"(
fn run(n: i64) -> i64 {
    let a = [f32](n);
    for round in 0..10 {
        a[round] = 1.0;
        parallel for i in 0..n {
            var v = a[i];
            for k in 0..20000 { v = v * 0.999 + 1.0; }
            a[i] = v;
        }
    }
    return a[1] as i64;
}
)";

// Copies between the launches have no time of their own, and take nothing of that of the launches, on which the choice
// of a place depends.
TEST_F(SmallLoops, LaunchesAreMeasuredByThemselves) {
  const Worker worker = start();
  const Isolate device = ran_as_interpreted(worker, kLong, 50);
  const Statistics statistics = device.statistics();
  EXPECT_GE(statistics.device_uploads, 10u);
  EXPECT_GT(statistics.device_launch_time, 200'000u);
}

}  // namespace
}  // namespace dhpvm
