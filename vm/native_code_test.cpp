// SPDX-License-Identifier: Apache-2.0
// Compiled functions and the machine around them: fuel, the end of the machine's stack, deadlines, natives, threads.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <bit>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "base/thread_pool.h"
#include "vm/alarm.h"
#include "vm/compile_service.h"
#include "vm/invocation.h"
#include "vm/test_program.h"
#include "vm/test_programs.h"

namespace dhpvm::vm {
namespace {

#ifdef DHPVM_CODEGEN_LIBRARY

IsolateOptions eager() {
  codegen::GeneratorOptions generator;
  generator.cache = false;
  IsolateOptions options;
  options.jit.mode = JitMode::kEager;
  options.compile_service = std::make_shared<CompileService>(generator, DHPVM_CODEGEN_LIBRARY);
  options.thread_pool = std::make_shared<ThreadPool>(2);
  options.alarm = std::make_shared<Alarm>();
  return options;
}

// Counted loops pay for their back-edges in advance; what calls a function that traps does not tell it the ticks.
constexpr std::string_view kTraps = R"(
type array A: i64
function early(i64, i64) -> i64 registers 4 1 exported
  imm p2, 8
  new.array r0, p2, A
  imm p2, 0
Again:
  sub.i64 p3, p2, p1
  store.i64 r0, p3, p2
  for.i64 p2, p0, Again
  return.p p2
end
function divides(i64, i64) -> i64 registers 5 0 exported
  imm p2, 0
Again:
  sub.i64 p3, p1, p2
  div.i64 p4, p0, p3
  for.i64 p2, p0, Again
  return.p p2
end
function negative(i64) registers 1 1 exported
  call p0, r0, allocate
  return
end
function allocate(i64) registers 1 1
  new.array r0, p0, A
  return
end
)";

TEST(NativeCode, CountsFuelExactlyWhenItTraps) {
  struct Call {
    std::string_view function;
    std::uint64_t arguments[2];
  };
  constexpr Call kCalls[] = {{"early", {100, 0}},
                             {"early", {5000, 3}},
                             {"divides", {100, 50}},
                             {"divides", {5000, 3000}},
                             {"negative", {~0ull, 0}}};
  for (const Call& call : kCalls) {
    Program interpreted(kTraps);
    Program compiled(kTraps, eager());
    const Error expected = interpreted.trap(call.function, {call.arguments[0], call.arguments[1]});
    const Error found = compiled.trap(call.function, {call.arguments[0], call.arguments[1]});
    EXPECT_EQ(found.to_string(), expected.to_string());
    EXPECT_EQ(compiled->stats().fuel_used, interpreted->stats().fuel_used) << call.function;
  }
}

// The block that is seldom run is the one for as many elements as the array has.
TEST(NativeCode, BoundsOfLoopsMayComeFromRareBlocks) {
  constexpr std::string_view kText = R"(
type array A: i64
function turns(i64) -> i64 registers 4 1 exported
  imm p1, 7
  new.array r0, p1, A
  imm p1, 0
  imm p2, 4
  array.length p3, r0
  jump.ne.i64 p0, p3, Usual
  imm p2, 9
Usual:
  imm p3, 0
Again:
  add.i64 p3, p3, p1
  for.i64 p1, p2, Again
  return.p p3
end
)";
  Program program(kText, eager());
  EXPECT_EQ(program.run("turns", {1}), 6u);
  EXPECT_EQ(program.run("turns", {7}), 36u);
}

// Where the machine's stack ends, the interpreter goes on.
TEST(NativeCode, CallsAMillionDeep) {
  IsolateOptions options = eager();
  options.limits.stack_bytes = std::size_t{1} << 30;
  Program program(kRecursion, options);
  EXPECT_EQ(program.run("deep", {1'000'000}), 1'000'000u);
  EXPECT_EQ(program.run("deep", {1'000'000}), 1'000'000u);
}

TEST(NativeCode, EndlessRecursionHasTheInterpretersTrace) {
  for (const std::size_t stack : {std::size_t{64} << 10, std::size_t{64} << 20}) {
    IsolateOptions options = eager();
    options.limits.stack_bytes = stack;
    Program compiled(kRecursion, options);
    options.jit.mode = JitMode::kOff;
    Program interpreted(kRecursion, options);
    constexpr std::uint64_t kDeep = 100'000'000;
    const Error expected = interpreted.trap("deep", {kDeep});
    EXPECT_EQ(expected.code(), ErrorCode::kStackOverflow);
    EXPECT_EQ(compiled.trap("deep", {kDeep}).to_string(), expected.to_string());
    EXPECT_EQ(compiled.trap("fail_at", {40}).to_string(), interpreted.trap("fail_at", {40}).to_string());
  }
}

TEST(NativeCode, EndlessLoopsEnd) {
  IsolateOptions options = eager();
  options.limits.deadline = std::chrono::milliseconds(20);
  Program program(kWork, options);
  const Error error = program.trap("forever");
  EXPECT_EQ(error.code(), ErrorCode::kDeadline);
  EXPECT_EQ(error.frames()[0].line, 8u);
  program->set_deadline(Limits::kNoDeadline);
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    program->interrupt();
  });
  EXPECT_EQ(program.trap("forever").code(), ErrorCode::kInterrupted);
  other.join();
  EXPECT_EQ(program.run("count", {1000}), 1000u);
}

// Natives that fail, and that call back into compiled code.
constexpr std::string_view kNatives = R"(
import fail(i64) -> i64
import back(i64) -> i64
function fails(i64) -> i64 registers 1 0 exported
  line "n.dhp" 2:1
  call.native p0, r0, fail
  return
end
function nested(i64) -> i64 registers 2 0 exported
  line "n.dhp" 6:1
  jump.eq.imm.i64 p0, 0, Fail
  add.imm.i64 p1, p0, -1
  call.native p1, r0, back
  add.i64 p0, p0, p1
  return
Fail:
  call p0, r0, fails
  return
end
function sum(i64) -> i64 registers 2 0 exported
  jump.eq.imm.i64 p0, 0, Done
  add.imm.i64 p1, p0, -1
  call.native p1, r0, back
  add.i64 p0, p0, p1
Done:
  return
end
)";

NativeRegistry natives(std::string_view function) {
  NativeRegistry registry;
  EXPECT_TRUE(registry
                  .define("fail", "(i64) -> i64",
                          [](NativeCall&) { return Status(Error(ErrorCode::kIo, "as it happens")); })
                  .ok());
  EXPECT_TRUE(registry
                  .define("back", "(i64) -> i64",
                          [function](NativeCall& call) {
                            gc::Ref none[1] = {};
                            return call.isolate.call(*call.isolate.find_export(function), {call.p, 1}, none);
                          })
                  .ok());
  return registry;
}

TEST(NativeCode, CallsNativesThatFailOrCallBack) {
  for (const std::string_view function : {"nested", "fails"}) {
    Program interpreted(kNatives, {}, natives("nested"));
    Program compiled(kNatives, eager(), natives("nested"));
    EXPECT_EQ(compiled.trap(function, {3}).to_string(), interpreted.trap(function, {3}).to_string());
  }
  Program compiled(kNatives, eager(), natives("sum"));
  EXPECT_EQ(compiled.run("sum", {20}), 210u);
}

TEST(NativeCode, IsolatesOnTwoThreads) {
  const IsolateOptions options = eager();
  const auto work = [&] {
    Program program(kWork, options);
    for (std::uint64_t n = 1; n < 200; ++n) EXPECT_EQ(program.run("calls", {n}), n);
  };
  std::thread first(work);
  std::thread second(work);
  first.join();
  second.join();
}

// Every iteration adds up what begins at its own index.
constexpr std::string_view kTriangle = R"(
type array F: f64
function sums(i64) -> f64 registers 5 4 exported
  new.array r0, p0, F
  new.array r1, p0, F
  imm p1, 0
  const p2, 1.0
Again:
  store.f64 r0, p1, p2
  for.i64 p1, p0, Again
  imm p1, 0
  move.p p2, p0
  move.p p3, p0
  move.r r2, r0
  move.r r3, r1
  parallel.for p1, r2, #0
  imm p1, 3
  load.f64 p0, r1, p1
  return.p p0
end
function triangle(i64, i64, F, F) registers 5 2
  imm p2, 0
  move.p p3, p0
Again:
  load.f64 p4, r0, p3
  add.f64 p2, p2, p4
  for.i64 p3, p1, Again
  store.f64 r1, p0, p2
  return
end
kernel triangle dims 1
)";

TEST(NativeCode, NeighbouringIterationsThatCountTogetherReadTogether) {
  std::string listed;
  codegen::GeneratorOptions generator;
  generator.cache = false;
  generator.list_kernels = codegen::Listing::kLlvm;
  generator.list = [&](std::string_view text) { listed += text; };
  IsolateOptions options = eager();
  options.compile_service = std::make_shared<CompileService>(generator, DHPVM_CODEGEN_LIBRARY);
  EXPECT_EQ(std::bit_cast<double>(Program(kTriangle, options).run("sums", {5000})), 4997.0);
  options.compile_service.reset();  // whose thread writes the listing
  EXPECT_NE(listed.find("masked.load"), std::string::npos) << listed;
  EXPECT_EQ(listed.find("masked.gather"), std::string::npos) << listed;
}

// Eight iterations, each a chain of as many steps as the argument says, which nothing shortens, and then `ending`.
std::string few_long_iterations(std::string_view type, std::string_view ending) {
  return fmt::format(R"(
type array A: {0}
function run(i64) -> {0} registers 5 3 exported
  imm p1, 8
  new.array r0, p1, A
  imm p1, 0
  imm p2, 8
  move.p p3, p0
  move.r r1, r0
  parallel.for p1, r1, #0
  imm p1, 7
  load.{0} p0, r0, p1
  return.p p0
end
function chain(i64, i64, A) registers 4 1
  move.p p2, p0
  imm p3, 0
Again:
  mul.i64 p2, p2, p2
  add.imm.i64 p2, p2, 12345
  for.i64 p3, p1, Again
{1}
  store.{0} r0, p0, p2
  return
end
kernel chain dims 1
)",
                     type, ending);
}

TEST(NativeCode, ThreadsShareFewLongIterationsOneByOneUnlessBitsDependOnIt) {
  const std::string exact = few_long_iterations("i64", "");
  const std::string approximate = few_long_iterations("f64", "  i64.to.f64 p2, p2\n  sin.f64 p2, p2");
  for (const std::string& text : {exact, approximate}) {
    Program compiled(text, eager());
    const std::uint64_t first = compiled.run("run", {1'000'000});
    EXPECT_EQ(compiled.run("run", {1'000'000}), first);
    EXPECT_EQ(compiled.run("run", {1'000'000}), first);
    const bool one_by_one = compiled->explain_loops().find("share them one by one") != std::string::npos;
    EXPECT_EQ(one_by_one, text == exact);
    if (text == exact) EXPECT_EQ(Program(text).run("run", {1'000'000}), first);
  }
}

// As many iterations and steps as the arguments say; the largest value, its sum as a float, and, if the third
// argument is not negative, a division by zero in the iterations from there on.
constexpr std::string_view kLongReduction = R"(
function largest(i64, i64, i64) -> i64 registers 9 0 exported
  imm p3, 0
  move.p p4, p0
  move.p p5, p1
  move.p p6, p2
  imm p7, -5
  const p8, 0.25
  parallel.for p3, r0, #0
  return.p p3
end
function sum(i64, i64, i64) -> f64 registers 9 0 exported
  imm p3, 0
  move.p p4, p0
  move.p p5, p1
  move.p p6, p2
  imm p7, -5
  const p8, 0.25
  parallel.for p3, r0, #0
  return.p p4
end
function chain(i64, i64, i64, i64, f64) -> i64, f64 registers 9 0
  add.imm.i64 p5, p0, 3
  imm p6, 0
Again:
  mul.i64 p5, p5, p5
  add.imm.i64 p5, p5, 12345
  for.i64 p6, p1, Again
  jump.lt.i64 p0, p2, Fine
  imm p6, 0
  line "r.dhp" 3:7
  div.i64 p6, p5, p6
Fine:
  imm p7, 10000
  rem.i64 p6, p5, p7
  max.i64 p0, p3, p6
  i64.to.f64 p7, p6
  const p8, 0.1
  mul.f64 p7, p7, p8
  add.f64 p1, p4, p7
  return
end
kernel chain dims 1 reduce max:i64 reduce add:f64
)";
constexpr std::uint64_t kNowhere = 1'000'000;

TEST(NativeCode, ThreadsShareTheLanesOfAReduction) {
  for (const std::uint64_t iterations : {3, 45}) {
    constexpr std::uint64_t kSteps = 100'000;
    Program interpreted(kLongReduction);
    const std::uint64_t largest = interpreted.run("largest", {iterations, kSteps, kNowhere});
    const std::uint64_t sum = interpreted.run("sum", {iterations, kSteps, kNowhere});
    for (const unsigned threads : {2u, 9u}) {
      for (const JitMode mode : {JitMode::kEager, JitMode::kOn}) {
        IsolateOptions options = eager();
        options.jit.mode = mode;
        options.thread_pool = std::make_shared<ThreadPool>(threads);
        Program compiled(kLongReduction, options);
        for (unsigned time = 0; time < 3; ++time) {
          EXPECT_EQ(compiled.run("largest", {iterations, kSteps, kNowhere}), largest) << threads;
          EXPECT_EQ(compiled.run("sum", {iterations, kSteps, kNowhere}), sum) << threads;
        }
      }
    }
  }
}

TEST(NativeCode, ReductionsOfFewLongIterationsTakeNoMoreLanesThanThreadsNeed) {
  constexpr std::uint64_t kSteps = 3'000'000;  // a lane takes long on any machine
  for (const auto& [threads, what] : {std::pair{9u, "share them one by one"}, std::pair{2u, "at a time"}}) {
    IsolateOptions options = eager();
    options.thread_pool = std::make_shared<ThreadPool>(threads);
    Program compiled(kLongReduction, options);
    const std::uint64_t first = compiled.run("largest", {32, kSteps, kNowhere});
    EXPECT_EQ(compiled.run("largest", {32, kSteps, kNowhere}), first);
    const std::string text = compiled->explain_loops();
    EXPECT_NE(text.find(what), std::string::npos) << text;
    EXPECT_EQ(text.find("32 iterations at a time"), std::string::npos) << text;
  }
}

TEST(NativeCode, TheFirstIterationThatTrapsInSharedLanesIsReported) {
  for (const std::uint64_t first : {0, 1, 37, 63}) {
    constexpr std::uint64_t kSteps = 200'000;
    Program interpreted(kLongReduction);
    const std::string expected = interpreted.trap("sum", {64, kSteps, first}).to_string();
    for (const unsigned threads : {1u, 2u, 9u}) {
      IsolateOptions options = eager();
      options.thread_pool = std::make_shared<ThreadPool>(threads);
      Program compiled(kLongReduction, options);
      for (unsigned time = 0; time < 2; ++time) {
        EXPECT_EQ(compiled.trap("sum", {64, kSteps, first}).to_string(), expected);
        compiled.run("sum", {64, kSteps, kNowhere});
      }
    }
  }
}

TEST(NativeCode, ADeadlineEndsSharedLanes) {
  IsolateOptions options = eager();
  Program program(kLongReduction, options);
  const std::uint64_t sum = program.run("sum", {64, 200'000, kNowhere});
  program->set_deadline(std::chrono::milliseconds(20));
  EXPECT_EQ(program.trap("sum", {64, 1ull << 40, kNowhere}).code(), ErrorCode::kDeadline);
  program->set_deadline(Limits::kNoDeadline);
  EXPECT_EQ(program.run("sum", {64, 200'000, kNowhere}), sum);
}

// At any moment, and so between two calls as well: each call ends, with its result or interrupted.
TEST(NativeCode, InterruptsAtAnyMomentEndLoops) {
  Program program(kLongReduction, eager());
  const std::uint64_t sum = program.run("sum", {64, 2000, kNowhere});
  std::atomic<bool> done{false};
  std::thread other([&] {
    while (!done.load()) program->interrupt();
  });
  const std::uint32_t function = *program->find_export("sum");
  for (unsigned time = 0; time < 3000; ++time) {
    Invocation call(*program.operator->(), function);
    call.p()[0] = 64;
    call.p()[1] = 2000;
    call.p()[2] = kNowhere;
    const Status status = call.run();
    if (status.ok()) {
      EXPECT_EQ(call.p()[0], sum);
    } else {
      EXPECT_EQ(status.error().code(), ErrorCode::kInterrupted);
    }
  }
  done.store(true);
  other.join();
}

// Four loops, three of them in each other, with a call between; registers hold other types from loop to loop.
constexpr std::string_view kLoops = R"(
function loops(i64) -> i64 registers 8 0 exported
  imm p1, 0
  imm p2, 0
Outer:
  imm p3, 0
Middle:
  imm p4, 0
  const p5, 0.5
Inner:
  i64.to.f64 p6, p4
  add.f64 p5, p5, p6
  for.i64 p4, p0, Inner
  f64.to.i64 p5, p5
  move.p p6, p5
  call p6, r0, mixed
  add.i64 p1, p1, p6
  for.i64 p3, p0, Middle
  xor.i64 p1, p1, p2
  for.i64 p2, p0, Outer
  imm p2, 0
  move.p p5, p1
Last:
  mul.i64 p5, p5, p5
  add.i64 p5, p5, p2
  for.i64 p2, p0, Last
  return.p p5
end
function mixed(i64) -> i64 registers 2 0
  imm p1, 77
  mul.i64 p0, p0, p1
  add.imm.i64 p0, p0, 5
  return.p p0
end
)";

TEST(NativeCode, IsCompiledOnceWhereverItIsFoundRunning) {
  Program interpreted(kLoops);
  const std::uint64_t expected = interpreted.run("loops", {20});
  const std::string cache = testing::TempDir() + fmt::format("dhpvm-loops-{}", ::getpid());
  for (std::uint32_t interval = 1; interval <= 100; ++interval) {
    codegen::GeneratorOptions generator;
    generator.cache_directory = cache;
    IsolateOptions options = eager();
    options.compile_service = std::make_shared<CompileService>(generator, DHPVM_CODEGEN_LIBRARY);
    options.jit.mode = JitMode::kOn;
    options.jit.threshold_samples = 1;
    options.jit.sample_interval = interval;
    options.jit.wait = true;
    Program program(kLoops, options);
    EXPECT_EQ(program.run("loops", {20}), expected) << interval;
    EXPECT_EQ(program->stats().fuel_used, interpreted->stats().fuel_used) << interval;
    EXPECT_EQ(options.compile_service->stats().compiles, interval == 1 ? 1u : 0u) << interval;
    EXPECT_EQ(options.compile_service->stats().cache_hits, interval == 1 ? 0u : 1u) << interval;
  }
  std::filesystem::remove_all(cache);
}

// Two loops between hundreds of words of other code. Every kind of register crosses the end of a loop, and so does a
// local array.
std::string long_function() {
  std::string text = R"(
type array A: i64
function long(i64) -> i64 registers 8 2 exported
  local i64 4
  imm p1, 3
  new.array r0, p1, A
  imm p2, 0
  imm p3, 0
  imm p5, 0
First:
  store.i64 r0, p3, p2
  local.store.i64 l0, p3, p2
  add.i64 p5, p5, p2
  add.i32 p6, p5, p2
  for.i64 p2, p0, First
)";
  for (int n = 0; n < 300; ++n) text += "  add.imm.i64 p5, p5, 7\n";
  text += R"(
  move.r r1, r0
  imm p2, 0
Second:
  load.i64 p4, r1, p3
  add.i64 p5, p5, p4
  for.i64 p2, p0, Second
  local.load.i64 p4, l0, p3
  mul.i64 p5, p5, p4
  i32.to.i64 p4, p6
  add.i64 p5, p5, p4
)";
  for (int n = 0; n < 300; ++n) text += "  add.imm.i64 p5, p5, 5\n";
  return text + "  return.p p5\nend\n";
}

TEST(NativeCode, LongFunctionsAreCompiledInParts) {
  const std::string text = long_function();
  Program interpreted(text);
  IsolateOptions options = eager();
  options.jit.mode = JitMode::kOn;
  options.jit.threshold_samples = 2;
  options.jit.sample_interval = 3;
  options.jit.wait = true;
  Program program(text, options);
  const auto run = [&](std::uint64_t turns) {
    EXPECT_EQ(program.run("long", {turns}), interpreted.run("long", {turns}));
    EXPECT_EQ(program->stats().fuel_used, interpreted->stats().fuel_used);
    return options.compile_service->stats().compiles;
  };
  // `main` is such a function, and called once: only its loops are compiled. A function that is called again and again
  // is compiled as a whole, too.
  EXPECT_EQ(run(100), 1u);
  for (std::uint64_t turns = 1; turns < 50; ++turns) run(turns);
  EXPECT_EQ(run(100), 2u);
}

// Each turn of the loop takes two ticks, one for the call and one for the back-edge.
constexpr std::string_view kTwoTicks = R"(
import look(i64)
function turns(i64) -> i64 registers 3 0 exported
  imm p1, 0
Again:
  move.p p2, p1
  call.native p2, r0, look
  for.i64 p1, p0, Again
  return.p p1
end
)";

// Samples that all fall on the call would never continue the loop in its compiled code.
TEST(NativeCode, LoopsInStepWithTheTicksAreContinued) {
  // Compiled code puts arguments elsewhere than the interpreter, whose registers they are.
  const std::uint64_t* first = nullptr;
  const std::uint64_t* last = nullptr;
  NativeRegistry registry;
  const Status defined = registry.define("look", "(i64)", [&](NativeCall& call) {
    if (first == nullptr) first = call.p;
    last = call.p;
    return Status();
  });
  ASSERT_TRUE(defined.ok());
  for (const std::uint32_t interval : {16u, 1024u}) {
    IsolateOptions options = eager();
    options.jit.mode = JitMode::kOn;
    options.jit.wait = true;
    options.jit.sample_interval = interval;
    first = nullptr;
    EXPECT_EQ(Program(kTwoTicks, options, registry).run("turns", {100'000}), 100'000u);
    EXPECT_NE(first, last) << interval;
  }
}

// The callee's registers end behind the last that an instruction of the caller could name.
TEST(NativeCode, WindowsOfCallsInLoopsEndBehindAllRegisters) {
  constexpr std::string_view kWide = R"(
function wide(i64) -> i64 registers 65500 0 exported
  imm p1, 0
  imm p2, 0
Loop:
  move.p p65490, p2
  call p65490, r0, product
  add.i64 p1, p1, p65490
  for.i64 p2, p0, Loop
  return.p p1
end
function product(i64) -> i64 registers 100 0
  imm p99, 77
  mul.i64 p98, p0, p99
  return.p p98
end
)";
  EXPECT_EQ(Program(kWide).run("wide", {50}), 77u * 49 * 50 / 2);
  EXPECT_EQ(Program(kWide, eager()).run("wide", {50}), 77u * 49 * 50 / 2);
}

// A loop that calls a function with a loop of its own.
constexpr std::string_view kNestedCalls = R"(
function outer(i64) -> i64 registers 5 0 exported
  imm p1, 0
  imm p2, 0
Alone:
  add.i64 p1, p1, p2
  for.i64 p2, p0, Alone
  imm p2, 0
Calling:
  move.p p3, p0
  call p3, r0, inner
  add.i64 p1, p1, p3
  for.i64 p2, p0, Calling
  return.p p1
end
function inner(i64) -> i64 registers 3 0
  imm p1, 0
  imm p2, 0
Loop:
  add.i64 p1, p1, p2
  for.i64 p2, p0, Loop
  return.p p1
end
)";

// Else what a run asks the cache for would depend on how long the first unit takes.
TEST(NativeCode, CalleesAreNotCompiledAgainWhileTheyAreWaitedFor) {
  Program interpreted(kNestedCalls);
  IsolateOptions options = eager();
  codegen::GeneratorOptions generator;
  generator.cache = false;
  options.compile_service = std::make_shared<CompileService>(generator, DHPVM_CODEGEN_LIBRARY);
  options.jit.mode = JitMode::kOn;
  options.jit.threshold_samples = 1;
  options.jit.sample_interval = 1;
  std::atomic<bool> goes_on = false;
  options.compile_service->add([&](codegen::CodeGenerator&) { goes_on.wait(false); });
  Program program(kNestedCalls, options);
  EXPECT_EQ(program.run("outer", {20}), interpreted.run("outer", {20}));
  goes_on = true;
  goes_on.notify_all();
  EXPECT_TRUE(options.compile_service->finish(std::chrono::steady_clock::now() + std::chrono::minutes(1)));
  EXPECT_EQ(options.compile_service->stats().compiles, 1u);
}

// The beginning of the library is enough to recognise it; the loader refuses it, as one of another machine.
TEST(NativeCode, WhatIsInTheCacheNeedsNoLibrary) {
  const std::string folder = testing::TempDir() + fmt::format("dhpvm-no-library-{}", ::getpid());
  std::filesystem::create_directory(folder);
  const std::string beginning = folder + "/library";
  {
    std::ifstream library(DHPVM_CODEGEN_LIBRARY, std::ios::binary);
    std::string bytes(4096, '\0');
    library.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    bytes[18] = 0;  // e_machine, of two bytes
    bytes[19] = 0;
    std::ofstream(beginning, std::ios::binary) << bytes;
  }
  codegen::GeneratorOptions generator;
  generator.cache_directory = folder + "/cache";
  const auto run = [&](const std::string& library) {
    IsolateOptions options = eager();
    options.compile_service = std::make_shared<CompileService>(generator, library);
    options.jit.mode = JitMode::kOn;
    options.jit.threshold_samples = 1;
    options.jit.sample_interval = 1;
    options.jit.wait = true;
    Program program(kLoops, options);
    program.run("loops", {20});
    return options.compile_service;
  };
  const auto nothing_kept = run(beginning);
  EXPECT_TRUE(nothing_kept->failure());
  EXPECT_EQ(nothing_kept->stats().cache_hits, 0u);
  EXPECT_EQ(run(DHPVM_CODEGEN_LIBRARY)->stats().compiles, 1u);
  const auto kept = run(beginning);
  EXPECT_FALSE(kept->failure()) << kept->failure()->message();
  EXPECT_EQ(kept->stats().cache_hits, 1u);
  // An option that only the library understands is asked of it before anything runs.
  generator.cpu = "no-such-processor";
  EXPECT_FALSE(CompileService(generator, DHPVM_CODEGEN_LIBRARY).generator().ok());
  std::filesystem::remove_all(folder);
}

// run(n, iterations, executions) executes a loop that sets element i to i + i / (n - i). The result is the sum of two
// elements.
constexpr std::string_view kTiers = R"(
type array A: i64
function run(i64, i64, i64) -> i64 registers 8 2 exported
  new.array r0, p1, A
  imm p3, 0
Again:
  imm p4, 0
  move.p p5, p1
  move.p p6, p0
  move.r r1, r0
  parallel.for p4, r1, #0
  for.i64 p3, p2, Again
  imm p4, 3
  load.i64 p5, r0, p4
  sub.i64 p4, p1, p4
  load.i64 p6, r0, p4
  add.i64 p0, p5, p6
  return.p p0
end
function kernel(i64, i64, A) registers 4 1
  line "tiers.dhp" 7:3
  sub.i64 p2, p1, p0
  div.i64 p3, p0, p2
  add.i64 p3, p3, p0
  store.i64 r0, p0, p3
  return
end
kernel kernel dims 1
)";

class Tiers : public testing::Test {
 protected:
  Tiers() { std::filesystem::remove_all(folder_); }
  ~Tiers() override { std::filesystem::remove_all(folder_); }

  struct Run {
    std::uint64_t result = 0;
    std::uint64_t compiles = 0;
    std::uint64_t cache_hits = 0;
    std::string story;
  };
  // Runs the program three times as a new process would: with a code generator of its own, and the cache's files.
  Run run(std::uint64_t iterations, std::uint64_t executions, JitMode mode = JitMode::kOn) {
    codegen::GeneratorOptions generator;
    generator.cache_directory = folder_;
    IsolateOptions options = eager();
    options.jit.mode = mode;
    options.jit.threshold_samples = std::numeric_limits<std::uint32_t>::max();  // loops alone
    options.compile_service = std::make_shared<CompileService>(generator, DHPVM_CODEGEN_LIBRARY);
    Program program(kTiers, options);
    Run run;
    // The second time finds what the first one has requested, and the third what the second has.
    for (int time = 0; time < 3; ++time) {
      run.result = program.run("run", {~std::uint64_t{0}, iterations, executions});
      EXPECT_TRUE(
          options.compile_service->finish(std::chrono::steady_clock::now() + std::chrono::minutes(1)));
    }
    const codegen::GeneratorStats stats = options.compile_service->stats();
    run.compiles = stats.compiles;
    run.cache_hits = stats.cache_hits;
    run.story = program->explain_loops();
    return run;
  }

 private:
  const std::string folder_ = testing::TempDir() + fmt::format("dhpvm-tiers-{}", ::getpid());
};

constexpr std::string_view kBaselineCode = "because this is baseline code";

TEST_F(Tiers, ShortLoopsAreOptimisedInTheNextRunAndFoundInTheThird) {
  const std::uint64_t expected = Program(kTiers).run("run", {~std::uint64_t{0}, 600, 1});
  const Run first = run(600, 1);
  EXPECT_EQ(first.result, expected);
  const Run second = run(600, 1);
  EXPECT_EQ(second.result, expected);
  EXPECT_EQ(second.cache_hits, 1u);
  // Both codes, each once. On a busy machine the first run may take it for a loop that lasts.
  EXPECT_EQ(first.compiles + second.compiles, 2u);
  if (first.compiles == 1) EXPECT_NE(first.story.find(kBaselineCode), std::string::npos) << first.story;
  const Run third = run(600, 1);
  EXPECT_EQ(third.result, expected);
  EXPECT_EQ(third.compiles, 0u);
  EXPECT_EQ(third.cache_hits, 1u);
  EXPECT_EQ(third.story.find(kBaselineCode), std::string::npos) << third.story;
}

TEST_F(Tiers, LoopsThatLastAreOptimisedInTheSameRun) {
  const Run first = run(20'000, 200);
  EXPECT_EQ(first.result, Program(kTiers).run("run", {~std::uint64_t{0}, 20'000, 1}));
  EXPECT_EQ(first.compiles, 2u);
  EXPECT_EQ(first.story.find(kBaselineCode), std::string::npos) << first.story;
  EXPECT_EQ(run(20'000, 200).cache_hits, 1u);
}

TEST_F(Tiers, BaselineCodeAloneIsKeptWhereItIsAskedFor) {
  const Run baseline = run(20'000, 20, JitMode::kBaseline);
  EXPECT_EQ(baseline.result, Program(kTiers).run("run", {~std::uint64_t{0}, 20'000, 1}));
  EXPECT_EQ(baseline.compiles, 1u);
  EXPECT_NE(baseline.story.find(kBaselineCode), std::string::npos) << baseline.story;
}

// One execution begins in the interpreter, in the middle of a block, and goes on in both codes as they come.
TEST(NativeCode, ReductionsHaveTheSameBitsInWhateverCodeTheyRan) {
  IsolateOptions options = eager();
  options.jit.threshold_samples = std::numeric_limits<std::uint32_t>::max();
  const std::uint64_t expected = Program(kLongReduction).run("sum", {200'000, 20, kNowhere});
  for (const JitMode mode : {JitMode::kOn, JitMode::kBaseline}) {
    options.jit.mode = mode;
    Program compiled(kLongReduction, options);
    for (int time = 0; time < 3; ++time)
      EXPECT_EQ(compiled.run("sum", {200'000, 20, kNowhere}), expected) << time;
    const Error trap = Program(kLongReduction).trap("sum", {200'000, 20, 150'000});
    EXPECT_EQ(compiled.trap("sum", {200'000, 20, 150'000}).to_string(), trap.to_string());
  }
}

TEST(NativeCode, LoopsSayThatThereIsNoCodeGenerator) {
  IsolateOptions options = eager();
  options.jit.mode = JitMode::kOn;
  options.compile_service =
      std::make_shared<CompileService>(codegen::GeneratorOptions(), "/nowhere/no-such-library");
  for (const bool waits : {false, true}) {
    options.jit.wait = waits;
    Program program(kTiers, options);
    EXPECT_EQ(program.run("run", {~std::uint64_t{0}, 600, 1}),
              Program(kTiers).run("run", {~std::uint64_t{0}, 600, 1}));
    const std::string story = program->explain_loops();
    EXPECT_NE(story.find("interpreted, because there is no code generator"), std::string::npos) << story;
  }
  EXPECT_TRUE(options.compile_service->failure());
}

// The error names the first iteration that traps, and nothing else.
TEST(NativeCode, TrapsOfBaselineCodeAreThoseOfTheInterpreter) {
  IsolateOptions options = eager();
  options.jit.mode = JitMode::kBaseline;
  options.jit.wait = true;
  for (const std::uint64_t zero :
       {std::uint64_t{0}, std::uint64_t{5}, std::uint64_t{4096}, std::uint64_t{9'999}}) {
    const Error expected = Program(kTiers).trap("run", {zero, 10'000, 1});
    EXPECT_EQ(Program(kTiers, options).trap("run", {zero, 10'000, 1}).to_string(), expected.to_string());
  }
}

#else

TEST(NativeCode, NeedsTheGenerator) {
  GTEST_SKIP() << "this build has no native code generator (DHPVM_CODEGEN is OFF)";
}

#endif

}  // namespace
}  // namespace dhpvm::vm
