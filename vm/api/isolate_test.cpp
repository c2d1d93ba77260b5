// SPDX-License-Identifier: Apache-2.0
// Limits, consoles, main functions, and several threads.
#include <atomic>
#include <chrono>
#include <optional>
#include <span>
#include <stdexcept>
#include <thread>
#include <utility>

#include "vm/api/test_program.h"

namespace dhpvm {
namespace {

using namespace std::chrono_literals;

TEST(Limits, FuelEndsInATrapAndCanBeRefilled) {
  const TestHost host;
  Isolate isolate = host.isolate({.limits = {.fuel = 10'000}});
  const auto spin = need(isolate.function<void()>("spin"));
  const auto trap = spin();
  EXPECT_EQ(trap.error().code(), ErrorCode::kOutOfFuel);
  ASSERT_EQ(trap.error().frames().size(), 1u);
  EXPECT_EQ(trap.error().frames()[0].line, 40u);
  EXPECT_EQ(isolate.fuel_left(), 0u);
  EXPECT_EQ(isolate.statistics().fuel_used, 10'000u);
  isolate.set_fuel(500);
  EXPECT_EQ(spin().error().code(), ErrorCode::kOutOfFuel);
  EXPECT_EQ(isolate.statistics().fuel_used, 10'500u);
}

TEST(Limits, DeadlineEndsInATrap) {
  const TestHost host;
  Isolate isolate = host.isolate({.limits = {.deadline = 5ms}});
  EXPECT_EQ(need(isolate.function<void()>("spin"))().error().code(), ErrorCode::kDeadline);
  // The next call has a deadline of its own.
  EXPECT_TRUE(need(isolate.function<void()>("empty"))().ok());
  isolate.set_deadline(1ms);
  EXPECT_EQ(need(isolate.function<void()>("spin"))().error().code(), ErrorCode::kDeadline);
}

TEST(Limits, ZeroLeavesNothing) {
  const TestHost host;
  const auto code = [&](const Limits& limits, const char* function) {
    const Isolate isolate = host.isolate({.limits = limits});
    return need(isolate.function<void()>(function))().error().code();
  };
  EXPECT_EQ(code({.deadline = 0s}, "spin"), ErrorCode::kDeadline);
  EXPECT_EQ(code({.fuel = 0}, "spin"), ErrorCode::kOutOfFuel);
  EXPECT_EQ(code({.heap_bytes = 0}, "fill_heap"), ErrorCode::kOutOfMemory);
  const Isolate isolate = host.isolate({.limits = {.off_heap_bytes = 0}});
  EXPECT_EQ(need(isolate.function<std::int64_t(std::int64_t)>("big"))(100'000).error().code(),
            ErrorCode::kOffHeapExhausted);
}

TEST(Limits, NoLimitHasAName) {
  const TestHost host;
  const Isolate isolate = host.isolate({.limits = {.heap_bytes = Limits::kUnlimitedBytes,
                                                   .off_heap_bytes = Limits::kUnlimitedBytes,
                                                   .deadline = Limits::kNoDeadline}});
  EXPECT_TRUE(need(isolate.function<void()>("empty"))().ok());
  EXPECT_EQ(need(need(isolate.function<std::int64_t(std::int64_t)>("big"))(2'000'000)), 2'000'000);
}

TEST(Log, IsToldWhyALoopStaysOnTheHost) {
  std::string log;
  const Engine engine({.log = [&](LogKind kind, std::string_view text) {
    EXPECT_EQ(kind, LogKind::kWarning);
    log += text;
  }});
  const Module module =
      need(Module::compile(engine,
                           "fn f() -> f64 { let a = [f64](1000); parallel for i in 0..1000 { "
                           "a[i] = i as f64; } return a[999]; }"));
  const Isolate isolate = need(Isolate::create(module, {.jit_wait = true, .device = "sim?load_fail=1"}));
  testing::internal::CaptureStderr();
  EXPECT_EQ(need(need(isolate.function<double()>("f"))()), 999.0);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_NE(log.find("runs on the host"), std::string::npos) << log;
}

TEST(Limits, StackHeapAndOffHeapEndInTraps) {
  const TestHost host;
  const Isolate isolate =
      host.isolate({.limits = {.heap_bytes = 8 << 20, .off_heap_bytes = 8 << 20, .stack_bytes = 1 << 20}});
  EXPECT_EQ(need(isolate.function<std::int64_t(std::int64_t)>("recurse"))(0).error().code(),
            ErrorCode::kStackOverflow);
  EXPECT_EQ(need(isolate.function<void()>("fill_heap"))().error().code(), ErrorCode::kOutOfMemory);
  const auto big = need(isolate.function<std::int64_t(std::int64_t)>("big"));
  EXPECT_EQ(need(big(100'000)), 100'000);
  EXPECT_EQ(big(2'000'000).error().code(), ErrorCode::kOffHeapExhausted);
  EXPECT_EQ(big(INT64_MAX).error().code(), ErrorCode::kNegativeLength);
  EXPECT_EQ(need(isolate.function<std::string(std::string_view)>("greet"))("again").value_or(""),
            "Hello, again");
}

TEST(Interrupt, StopsARunningCallFromAnotherThread) {
  const TestHost host;
  const Isolate isolate = host.isolate();
  const auto spin = need(isolate.function<void()>("spin"));
  std::thread other([&isolate] {
    std::this_thread::sleep_for(20ms);
    isolate.interrupt();
  });
  const auto trap = spin();
  other.join();
  EXPECT_EQ(trap.error().code(), ErrorCode::kInterrupted);
  EXPECT_TRUE(need(isolate.function<void()>("empty"))().ok());
}

// A call without a safepoint behind the request ends by itself, and the next one is not stopped in its place.
TEST(Interrupt, EndsWithTheCallThatItIsFor) {
  for (const Jit jit : {Jit::kOff, Jit::kEager}) {
    TestHost host;
    const Isolate* running = nullptr;
    host.define("host.call", [&running](std::int64_t x) {
      running->interrupt();
      return x + 1;
    });
    const Isolate isolate = host.isolate({.jit = jit});
    running = &isolate;
    const auto call_host = need(isolate.function<std::int64_t(std::int64_t)>("host_call"));
    (void)call_host(1);  // ends, or is stopped
    EXPECT_TRUE(need(isolate.function<void()>("empty"))().ok());
    isolate.interrupt();
    EXPECT_EQ(need(isolate.function<void()>("empty"))().error().code(), ErrorCode::kInterrupted);
    EXPECT_TRUE(need(isolate.function<void()>("empty"))().ok());
  }
}

TEST(Console, OutputArrivesInOrderAndWhenTheCallEnds) {
  const TestHost host;
  const Isolate isolate = host.isolate();
  const auto print = need(isolate.function<void(std::string_view)>("print"));
  ASSERT_TRUE(print("one ").ok());
  EXPECT_EQ(host.output, "one ");
  ASSERT_TRUE(print(std::string(100'000, 'x')).ok());
  EXPECT_EQ(host.output.size(), 100'004u);
  ASSERT_TRUE(need(isolate.function<void(std::string_view)>("print_error"))("oh").ok());
  EXPECT_EQ(host.errors, "oh");
}

TEST(Console, EachIsolateMayHaveItsOwn) {
  const TestHost host;
  std::string own;
  std::string_view input = "first\r\nsecond\n\nlast";
  const Isolate isolate =
      host.isolate({.standard_output = TestHost::collect(&own),
                    .standard_input = [&input](std::span<char> into) -> Result<std::size_t> {
                      // Three bytes at a time: lines must not depend on how input arrives.
                      const std::size_t count = std::min<std::size_t>({3, into.size(), input.size()});
                      input.copy(into.data(), count);
                      input.remove_prefix(count);
                      return count;
                    }});
  ASSERT_TRUE(need(isolate.function<void(std::string_view)>("print"))("here").ok());
  EXPECT_EQ(own, "here");
  EXPECT_EQ(host.output, "");
  const auto read_line = need(isolate.function<Object()>("read_line"));
  for (const char* line : {"first", "second", "", "last"}) EXPECT_EQ(need(need(read_line()).text()), line);
  EXPECT_FALSE(need(read_line()));
  EXPECT_FALSE(need(read_line()));
}

TEST(Console, FailedOutputIsReportedAsWhatItIs) {
  const TestHost host;
  int writes = 0;
  const Isolate isolate = host.isolate({.standard_output = [&writes](std::string_view) -> Status {
    ++writes;
    return Error(ErrorCode::kIo, "the disk is full");
  }});
  const auto print = need(isolate.function<void(std::string_view)>("print"));
  const auto at_the_end = print("x");
  EXPECT_EQ(at_the_end.error().code(), ErrorCode::kIo);
  EXPECT_EQ(at_the_end.error().message(), "the disk is full");
  const auto within = print(std::string(100'000, 'x'));
  EXPECT_EQ(within.error().code(), ErrorCode::kIo);
  EXPECT_EQ(writes, 2);
  // Nothing of it is left for calls that do not print.
  EXPECT_TRUE(need(isolate.function<void()>("empty"))().ok());
}

// Arrays that the program has dropped go while the host's input function waits, and the function sees that the
// program has to stop.
TEST(Console, AnInputFunctionThatWaitsRests) {
  const TestHost host;
  std::optional<Isolate> isolate;
  std::size_t most = 0;
  std::size_t left = 0;
  isolate.emplace(host.isolate({.standard_input = [&](std::span<char>) -> Result<std::size_t> {
    const auto begin = std::chrono::steady_clock::now();
    most = isolate->statistics().off_heap_bytes;
    for (;;) {
      const auto waited = std::chrono::steady_clock::now() - begin;
      if (Status status = isolate->rest(waited); !status.ok()) return std::move(status).error();
      left = isolate->statistics().off_heap_bytes;
      // For long, because machines that run tests are busy.
      if (left == 0 || waited > 60s) isolate->interrupt();
      std::this_thread::sleep_for(10ms);
    }
  }}));
  EXPECT_EQ(need(need(isolate->function<std::int64_t(std::int64_t)>("big"))(8'000'000)), 8'000'000);
  const auto stopped = need(isolate->function<Object()>("read_line"))();
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.error().code(), ErrorCode::kInterrupted);
  EXPECT_GE(most, 64'000'000U);
  EXPECT_EQ(left, 0U);
}

// From the interpreter and from compiled code, whose frames know nothing of exceptions.
TEST(Console, FunctionsThatThrowEndTheProgramAndNotTheHost) {
  for (const Jit jit : {Jit::kOff, Jit::kEager}) {
    TestHost host;
    host.define("host.call", [](std::int64_t) -> std::int64_t { throw 7; });
    auto created = Isolate::create(
        host.module(),
        {.jit = jit,
         .standard_output = [](std::string_view) -> Status { throw std::runtime_error("no paper"); },
         .standard_error = [](std::string_view) -> Status { throw 7; },
         .standard_input = [](std::span<char>) -> Result<std::size_t> {
           throw std::runtime_error("no hands");
         }});
    if (!created.ok() && created.error().code() == ErrorCode::kUnsupported)
      GTEST_SKIP() << created.error().message();
    const Isolate isolate = need(std::move(created));
    const auto print = need(isolate.function<void(std::string_view)>("print"));
    const auto at_the_end = print("x");
    ASSERT_FALSE(at_the_end.ok());
    EXPECT_EQ(at_the_end.error().code(), ErrorCode::kHostException);
    EXPECT_NE(at_the_end.error().message().find("no paper"), std::string::npos)
        << at_the_end.error().message();
    EXPECT_EQ(print(std::string(100'000, 'x')).error().code(), ErrorCode::kHostException);
    const auto print_error = need(isolate.function<void(std::string_view)>("print_error"));
    EXPECT_EQ(print_error("x").error().code(), ErrorCode::kHostException);
    const auto read_line = need(isolate.function<Object()>("read_line"));
    EXPECT_EQ(read_line().error().code(), ErrorCode::kHostException);
    EXPECT_TRUE(need(isolate.function<void()>("empty"))().ok());
  }
}

// A program without system access reads only the input function of its host.
TEST(Console, InputOfTheHostIsPartOfTheSystem) {
  const Engine engine(EngineOptions{.system_access = false});
  const std::string program =
      "module 1.0\ntype string str\ntype resource resource\nimport io.stdin_read_line() -> str\n"
      "function read_line() -> str registers 0 1 exported\n  call.native p0, r0, io.stdin_read_line\n  "
      "return\nend\n";
  const Module module = need(Module::assemble(engine, program));
  const Isolate denied = need(Isolate::create(module));
  const auto refused = need(denied.function<Object()>("read_line"))();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::kIoTrap);
  EXPECT_NE(refused.error().message().find("standard input"), std::string::npos) << refused.error().message();
  bool given = false;
  const Isolate allowed =
      need(Isolate::create(module, {.standard_input = [&given](std::span<char> into) -> Result<std::size_t> {
                             if (std::exchange(given, true)) return 0;
                             into[0] = 'x';
                             return 1;
                           }}));
  EXPECT_EQ(need(need(need(allowed.function<Object()>("read_line"))()).text()), "x");
}

TEST(RunMain, PassesArgumentsAndReturnsTheResult) {
  const TestHost host;
  Isolate isolate = host.isolate({.gc_stress = 1});
  const std::vector<std::string> arguments{"a", "", "longer argument"};
  EXPECT_EQ(need(isolate.run_main(arguments)), 3);
  EXPECT_EQ(host.output, "alonger argument");
  EXPECT_EQ(need(isolate.run_main()), 0);
}

Result<int> run(std::string_view main) {
  const Engine engine;
  const std::string program =
      "module 1.0\ntype string str\ntype resource resource\nimport os.exit(i32)\n" + std::string(main);
  Isolate isolate = need(Isolate::create(need(Module::assemble(engine, program))));
  return isolate.run_main();
}

TEST(RunMain, TakesEveryFormOfMain) {
  EXPECT_EQ(need(run("function main() registers 0 0\n  return\nend\nentry main\n")), 0);
  EXPECT_EQ(need(run("function main() -> i32 registers 1 0\n  imm p0, -7\n  return\nend\nentry main\n")), -7);
  EXPECT_EQ(run("function f() registers 0 0\n  return\nend\n").error().code(), ErrorCode::kNotFound);
  EXPECT_EQ(run("function main() registers 0 0\n  trap kUserTrap\nend\nentry main\n").error().code(),
            ErrorCode::kUserTrap);
}

TEST(RunMain, ExitEndsTheProgramWithItsCode) {
  EXPECT_EQ(need(run("function main() registers 1 0\n  imm p0, 42\n  call.native p0, r0, os.exit\n  trap "
                     "kUserTrap\nend\nentry main\n")),
            42);
  // Outside of main it is an error that says so.
  const TestHost host;
  const Isolate isolate = host.isolate();
  const auto left = need(isolate.function<void(std::int32_t)>("leave"))(5);
  EXPECT_EQ(left.error().code(), ErrorCode::kInterrupted);
  EXPECT_NE(left.error().message().find("exit code 5"), std::string::npos);
}

TEST(Threads, IsolatesOfOneModuleRunInParallel) {
  TestHost host;
  std::atomic<std::int64_t> calls = 0;
  host.define("host.call", [&calls](std::int64_t x) {
    ++calls;
    return x + 1;
  });
  const Module module = host.module();
  std::vector<std::thread> threads;
  std::atomic<int> right = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      const Isolate isolate = need(Isolate::create(module, {.gc_stress = 5}));
      const auto call = need(isolate.function<std::int64_t(std::int64_t)>("host_call"));
      const auto greet = need(isolate.function<std::string(std::string_view)>("greet"));
      for (int i = 0; i < 200; ++i) {
        if (call(i).value_or(0) == i + 1 &&
            greet(std::to_string(t)).value_or("") == "Hello, " + std::to_string(t))
          ++right;
      }
    });
  }
  // Definitions may come at any time; they do not reach modules that are bound already.
  for (int i = 0; i < 50; ++i) host.define("host.late" + std::to_string(i), [] {});
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 800);
  EXPECT_EQ(calls, 800);
}

TEST(Threads, AnIsolateMovesBetweenThreads) {
  const TestHost host;
  Isolate isolate = host.isolate();
  for (int i = 0; i < 3; ++i) {
    std::thread([&isolate] {
      EXPECT_EQ(need(need(isolate.function<std::string(std::string_view)>("greet"))("you")), "Hello, you");
    }).join();
  }
}

TEST(Threads, TwoAtOnceInOneIsolateAreAnError) {
  TestHost host;
  std::function<void()> meanwhile;
  host.define("host.meanwhile", [&meanwhile] { meanwhile(); });
  const Module module = need(Module::compile(host.engine, R"(
    extern fn meanwhile();
    fn run() { meanwhile(); }
    fn greet(name: str) -> str => "Hello, " + name;
    fn sum(x: [f64]) -> f64 => x.sum();
  )"));
  const Isolate isolate = need(Isolate::create(module));
  const auto greet = need(isolate.function<std::string(std::string_view)>("greet"));
  const auto sum = need(isolate.function<double(std::span<const double>)>("sum"));
  const std::vector<double> numbers = {1, 2};
  meanwhile = [&] {
    std::thread([&] {
      const auto greeting = greet("other thread");
      ASSERT_FALSE(greeting.ok());
      EXPECT_EQ(greeting.error().code(), ErrorCode::kInvalidArgument);
      EXPECT_EQ(greeting.error().message().find("another thread is using this isolate"), 0u);
      EXPECT_FALSE(sum(numbers).ok());
    }).join();
    EXPECT_EQ(need(greet("you")), "Hello, you");
    EXPECT_EQ(need(sum(numbers)), 3.0);
  };
  const auto run = need(isolate.function<void()>("run"));
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(run().ok());
  // One after the other is right, also after a call that has lent memory, and after one that was refused.
  EXPECT_EQ(need(sum(numbers)), 3.0);
  EXPECT_FALSE(sum(std::span<const double>(static_cast<const double*>(nullptr), 3)).ok());
  std::thread([&] { EXPECT_EQ(need(sum(numbers)), 3.0); }).join();
  EXPECT_EQ(need(greet("you")), "Hello, you");
}

TEST(Statistics, CountWhatHappened) {
  const TestHost host;
  Isolate isolate = host.isolate();
  const auto bytes = need(isolate.function<std::vector<std::uint8_t>(std::int64_t)>("bytes"));
  ASSERT_TRUE(bytes(1000).ok());
  isolate.collect();
  const Statistics statistics = isolate.statistics();
  EXPECT_EQ(statistics.host_calls, 1u);
  EXPECT_EQ(statistics.full_collections, 1u);
  EXPECT_GE(statistics.bytes_allocated, 1000u);
  EXPECT_GE(statistics.fuel_used, 999u);
}

// Elements that one iteration takes side by side use the line together.
TEST(Isolate, TellsOfElementsThatLieApart) {
  const Engine engine({.threads = 1});
  const Module module = need(Module::compile(engine, R"(
    fn pixels(from: [f32], to: [f32]) {
        parallel for i in 0..to.len { to[i] = from[3 * i] + from[3 * i + 1] - from[3 * i + 2]; }
    }
    fn some(from: [f32], to: [f32]) {
        parallel for i in 0..to.len { to[i] = from[8 * i + 1] + from[8 * i + 5]; }
    }
    fn run(n: i64) {
        let from = [f32](8 * n);
        let to = [f32](n);
        pixels(from, to);
        some(from, to);
    }
  )"));
  auto created = Isolate::create(module, {.jit = Jit::kEager});
  if (!created.ok() && created.error().code() == ErrorCode::kUnsupported)
    GTEST_SKIP() << created.error().message();
  const Isolate isolate = need(std::move(created));
  ASSERT_TRUE(need(isolate.function<void(std::int64_t)>("run"))(10'000).ok());
  const std::string story = isolate.explain_loops();
  EXPECT_EQ(story.find("3 apart"), std::string::npos) << story;
  EXPECT_NE(story.find("elements 8 apart (line 6), and so use 16 bytes of each 64"), std::string::npos)
      << story;
}

// A call goes on in compiled code as far as the stack of its own thread reaches, whichever thread was there before.
TEST(Isolate, CompiledCodeKeepsToTheStackOfEachThread) {
  const Engine engine({.code_cache = false});
  const Module module = need(
      Module::compile(engine, "fn sum(n: i64) -> i64 { if n == 0 { return 0; } return n + sum(n - 1); }"));
  const Isolate isolate =
      need(Isolate::create(module, {.limits = {.stack_bytes = std::size_t{256} << 20}, .jit = Jit::kEager}));
  const auto sum = need(isolate.function<std::int64_t(std::int64_t)>("sum"));
  const auto overflow = [&] {
    EXPECT_EQ(need(sum(1000)), 500'500);
    EXPECT_EQ(sum(1'000'000'000).error().code(), ErrorCode::kStackOverflow);
  };
  std::thread(overflow).join();  // first: its stack lies below this thread's
  overflow();
  std::thread(overflow).join();
}

}  // namespace
}  // namespace dhpvm
